import type { Clock, Logger } from "../../shared/machine/ports.ts";
import type { ServiceMeasure } from "../base/service-measure.ts";
import type { ServiceProject } from "../config/config.ts";
import type { RunnerPool, Station } from "../runners/pool.ts";
import type { AttachmentFiles } from "./attachment-files.ts";
import type { JobStore } from "./job-store.ts";
import type { PendingQuestions } from "./pending-questions.ts";
import type { TurnRow } from "./rows.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { NoteFiles } from "./note-files.ts";

/** What the service's tasks need. */
export type ServiceTaskDeps = {
  store: JobStore;
  /** The projects by id. */
  projects: ReadonlyMap<string, ServiceProject>;
  pool: RunnerPool;
  /** The runner that has a leased turn, or null if it may have none anymore. */
  stationOf: (turn: TurnRow) => Station | null;
  runningTurns: RunningTurns;
  questions: PendingQuestions;
  attachments: AttachmentFiles;
  notes: NoteFiles;
  clock: Clock;
  logger: Logger;
  measure: ServiceMeasure;
};
