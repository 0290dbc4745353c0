import { hash, randomBytes } from "node:crypto";

/** A new lease's id, its token, and what is stored of that. */
export function newLease(id: string): { id: string; token: string; tokenHash: Buffer } {
  const token = randomBytes(24).toString("base64url");
  return { id, token, tokenHash: hashOfToken(token) };
}

/** What is stored of a lease's token: SHA-256. */
export function hashOfToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
