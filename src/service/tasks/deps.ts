import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServiceProject } from "../config.ts";
import type { JobStore } from "../jobs/job-store.ts";
import type { TurnRunner, Upkeep } from "../turn-runner.ts";
import type { ArchiveWatch } from "./archive-watch.ts";
import type { TurnSlots } from "./turn-slots.ts";

/** What the service's tasks work with. */
export type ServiceTaskDeps = {
  store: JobStore;
  /** By id. */
  projects: ReadonlyMap<string, ServiceProject>;
  slots: TurnSlots;
  archives: ArchiveWatch;
  runTurn: TurnRunner;
  upkeep: Upkeep;
  clock: Clock;
  logger: Logger;
};
