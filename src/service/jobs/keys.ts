import { hash, randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { columnsOf, Tables } from "./tables.ts";

/** The stored part of an admin key. Times are epoch milliseconds. */
const KeyRow = z.object({
  id: z.string(),
  projectId: z.string(),
  last4: z.string(),
  createdAt: z.int(),
  revokedAt: z.int().nullable(),
});
export type AdminKey = z.infer<typeof KeyRow>;

const RANDOM_BYTES = 33;
const MAX_KEY_CHARS = 512;

/** Creates an admin key for a project. The returned `key` is shown once and stored nowhere. */
export function createKey(
  db: DatabaseSync,
  { prefix, projectId, nowMs }: { prefix: string; projectId: string; nowMs: number },
): { key: string; id: string } {
  const id = `key_${randomBytes(6).toString("hex")}`;
  const key = `${prefix}_${randomBytes(RANDOM_BYTES).toString("base64url")}`;
  const add = db.prepare("INSERT INTO keys (id, project_id, hash, last4, created_at) VALUES (?, ?, ?, ?, ?)");
  add.run(id, projectId, hashOf(key), key.slice(-4), nowMs);
  return { key, id };
}

/** All keys, oldest first, including revoked ones. */
export function listKeys(db: DatabaseSync): AdminKey[] {
  return new Tables(db).all(KeyRow, `SELECT ${columnsOf(KeyRow)} FROM keys ORDER BY created_at, id`);
}

/** Revokes a key. The next request with it is refused. */
export function revokeKey(
  db: DatabaseSync,
  id: string,
  nowMs: number,
): "revoked" | "revoked-before" | "unknown" {
  const revoke = db.prepare("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL");
  if (revoke.run(nowMs, id).changes === 1) return "revoked";
  return db.prepare("SELECT 1 FROM keys WHERE id = ?").get(id) === undefined ? "unknown" : "revoked-before";
}

/** Returns the project that a key belongs to, or null. Asks the database each time. */
export type KeyCheck = (key: string) => string | null;

/**
 * Creates the check of admin keys. It looks for the key's hash. Its timing may reveal parts of a
 * stored hash, but a hash doesn't reveal the key.
 */
export function createKeyCheck(db: DatabaseSync): KeyCheck {
  const tables = new Tables(db);
  const sql = "SELECT project_id FROM keys WHERE hash = ? AND revoked_at IS NULL";
  return (key) => (key.length > MAX_KEY_CHARS ? null : tables.value(z.string(), sql, hashOf(key)));
}

/** The part of a key that is stored to recognize it. */
function hashOf(key: string): string {
  return hash("sha256", key, "hex");
}
