import { DatabaseSync } from "node:sqlite";
import { stateFileOf } from "../../src/service/jobs/state-file.ts";

/** Reads the state of a service, which may be running, through a connection that can't write. */
export function readState<T>(config: { dataDir: string }, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(stateFileOf(config), { readOnly: true, timeout: 5000 });
  try {
    return work(db);
  } finally {
    db.close();
  }
}
