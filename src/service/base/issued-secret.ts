import { hash, randomBytes } from "node:crypto";

const RANDOM_BYTES = 33;
const MAX_SECRET_CHARS = 512;

/** A secret that the service gives out once, and what is stored in its place. */
export type IssuedSecret = { id: string; secret: string; hash: string; last4: string };

/** Makes a secret that begins with `prefix`, with an id that begins with `idPrefix`. */
export function issueSecret({ prefix, idPrefix }: { prefix: string; idPrefix: string }): IssuedSecret {
  const secret = `${prefix}_${randomBytes(RANDOM_BYTES).toString("base64url")}`;
  const id = `${idPrefix}_${randomBytes(6).toString("hex")}`;
  return { id, secret, hash: sha256(secret), last4: secret.slice(-4) };
}

/**
 * The hash by which a secret that somebody sent is looked up, or null if it can't be one. The time
 * that looking it up takes may reveal parts of a stored hash, but a hash doesn't reveal the secret.
 */
export function hashOfSecret(sent: string): string | null {
  return sent.length > MAX_SECRET_CHARS ? null : sha256(sent);
}

/** The part of a secret that is stored to recognize it. */
function sha256(secret: string): string {
  return hash("sha256", secret, "hex");
}
