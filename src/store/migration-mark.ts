import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { DocsAgentError } from "../errors.ts";
import { transaction } from "./sqlite-database.ts";

const Row = z.object({ migration: z.string() });

/** The store is one side of a migration that has not finished. */
export class StoreMigratingError extends DocsAgentError {
  readonly code = "store_migrating";

  /** `migration`: "from …" or "to …". */
  constructor(path: string, migration: string) {
    super(
      migration.startsWith("from")
        ? `The store ${path} holds an unfinished migration ${migration}. Run that migration again until it has finished.`
        : `The store ${path} is being migrated ${migration}. Wait for the end of it, or a minute if it was stopped.`,
    );
  }
}

/** The unfinished migration that a file is the target of, as "from …"; null: there is none. */
export function migrationOf(db: DatabaseSync): string | null {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").get() === undefined) return null;
  return Row.parse(db.prepare("SELECT migration FROM migration").get()).migration;
}

/** Notes the unfinished migration that a file is the target of; null: there is none any more. */
export function noteMigration(db: DatabaseSync, migration: string | null): void {
  transaction(db, () => {
    db.exec("DROP TABLE IF EXISTS migration");
    if (migration === null) return;
    db.exec("CREATE TABLE migration (migration TEXT NOT NULL) STRICT");
    db.prepare("INSERT INTO migration (migration) VALUES (?)").run(migration);
  });
}

/** The key at Redis that is there while it is one side of a migration: "from …" or "to …". */
export function migrationKey(prefix: string): string {
  return `${prefix}:migration`;
}
