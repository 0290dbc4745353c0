import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { hashOfSecret, issueSecret } from "../base/issued-secret.ts";
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

/** Creates an admin key for a project. The returned `key` is shown once and stored nowhere. */
export function createKey(
  db: DatabaseSync,
  { prefix, projectId, nowMs }: { prefix: string; projectId: string; nowMs: number },
): { key: string; id: string } {
  const { id, secret: key, hash, last4 } = issueSecret({ prefix, idPrefix: "key" });
  const add = db.prepare("INSERT INTO keys (id, project_id, hash, last4, created_at) VALUES (?, ?, ?, ?, ?)");
  add.run(id, projectId, hash, last4, nowMs);
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

/** Creates the check of admin keys. */
export function createKeyCheck(db: DatabaseSync): KeyCheck {
  const tables = new Tables(db);
  const sql = "SELECT project_id FROM keys WHERE hash = ? AND revoked_at IS NULL";
  return (key) => tables.value(z.string(), sql, hashOfSecret(key));
}
