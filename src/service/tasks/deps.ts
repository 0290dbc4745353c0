import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { AttachmentFiles } from "../attachments/attachment-files.ts";
import type { ServiceProject } from "../config.ts";
import type { JobStore } from "../jobs/job-store.ts";
import type { TurnRunner, Upkeep } from "../turn-runner.ts";
import type { QuestionDesk } from "./question-desk.ts";
import type { TurnSlots } from "./turn-slots.ts";
import type { TurnWatch } from "./turn-watch.ts";

/** What the service's tasks work with. */
export type ServiceTaskDeps = {
  store: JobStore;
  /** By id. */
  projects: ReadonlyMap<string, ServiceProject>;
  slots: TurnSlots;
  watch: TurnWatch;
  questions: QuestionDesk;
  attachments: AttachmentFiles;
  runTurn: TurnRunner;
  upkeep: Upkeep;
  clock: Clock;
  logger: Logger;
};
