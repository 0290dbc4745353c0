import type { Clock, Logger } from "../../shared/machine/ports.ts";
import type { ServiceMeasure } from "../base/service-measure.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Runner } from "../runner/runner.ts";
import type { AttachmentFiles } from "./attachment-files.ts";
import type { JobStore } from "./job-store.ts";
import type { PendingQuestions } from "./pending-questions.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { TurnPlaces } from "./turn-places.ts";

/** What the service's tasks need. */
export type ServiceTaskDeps = {
  store: JobStore;
  /** The projects by id. */
  projects: ReadonlyMap<string, ServiceProject>;
  places: TurnPlaces;
  runningTurns: RunningTurns;
  questions: PendingQuestions;
  attachments: AttachmentFiles;
  runner: Pick<Runner, "run" | "upkeep">;
  clock: Clock;
  logger: Logger;
  measure: ServiceMeasure;
};
