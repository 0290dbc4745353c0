import { firstTables, tasksWithoutLanes } from "./migrations.ts";
import type { Migration } from "./migrations.ts";
import { upgradeFrom1 } from "./upgrade-from-1.ts";
import type { UpgradeOptions } from "./upgrade-records-from-1.ts";

/**
 * What brings the Slack app's file to the newest schema, oldest step first. `PRAGMA user_version` counts the steps that a file has had:
 * only ever append, here; a released step never moves and never changes.
 */
export function appMigrations(options: UpgradeOptions): readonly Migration[] {
  return [firstTables, tasksWithoutLanes, (db) => upgradeFrom1(db, options)];
}
