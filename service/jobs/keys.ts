import { hash, randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";

/** What is kept of an admin key. Times are epoch milliseconds. */
const KeyRow = z.object({
  id: z.string(),
  projectId: z.string(),
  last4: z.string(),
  createdAt: z.int(),
  revokedAt: z.int().nullable(),
});
export type AdminKey = z.infer<typeof KeyRow>;

const ProjectRow = z.object({ project_id: z.string() });

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

/** All keys, the oldest first, revoked ones too. */
export function listKeys(db: DatabaseSync): AdminKey[] {
  const sql = `SELECT id, project_id AS projectId, last4, created_at AS createdAt, revoked_at AS
    revokedAt FROM keys
    ORDER BY created_at, id`;
  return z.array(KeyRow).parse(db.prepare(sql).all());
}

/** Revokes a key from the next request on. */
export function revokeKey(
  db: DatabaseSync,
  id: string,
  nowMs: number,
): "revoked" | "revoked-before" | "unknown" {
  const revoke = db.prepare("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL");
  if (revoke.run(nowMs, id).changes === 1) return "revoked";
  return db.prepare("SELECT 1 FROM keys WHERE id = ?").get(id) === undefined ? "unknown" : "revoked-before";
}

/** Says which project a key is for. Asks the database each time. */
export type KeyCheck = (key: string) => string | null;

/**
 * Makes the check of admin keys: the project that the key is for, or null. It looks for the key's
 * hash: what the time of that tells of a stored hash leads to no key.
 */
export function createKeyCheck(db: DatabaseSync): KeyCheck {
  const select = db.prepare("SELECT project_id FROM keys WHERE hash = ? AND revoked_at IS NULL");
  return (key) => {
    if (key.length > MAX_KEY_CHARS) return null;
    const row = select.get(hashOf(key));
    return row === undefined ? null : ProjectRow.parse(row).project_id;
  };
}

/** What is kept of a key, for it to be known again. */
function hashOf(key: string): string {
  return hash("sha256", key, "hex");
}
