import type { DatabaseSync } from "node:sqlite";
import { RecordUpgrade } from "./upgrade-records-from-1.ts";
import type { UpgradeOptions } from "./upgrade-records-from-1.ts";
import { TaskUpgrade } from "./upgrade-tasks-from-1.ts";

/**
 * Takes over what the first version (commit 899ea2e) left. A turn's posts become a part of the turn, jobs and threads are written anew
 * from the turns, and tasks that wait become those of today. A record that doesn't parse stays, and is set aside when it is read.
 */
export function upgradeFrom1(db: DatabaseSync, options: UpgradeOptions): void {
  const records = new RecordUpgrade(db, options);
  records.read();
  new TaskUpgrade(db, records, options).run();
  records.write();
}
