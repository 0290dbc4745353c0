import type { TaskCounts } from "../../shared/queue/task-queue.ts";
import type { Acceptance, TurnRequest } from "../jobs/acceptance.ts";
import type { KeyCheck } from "../jobs/keys.ts";
import type { ServiceTaskDeps } from "../jobs/service-task-deps.ts";
import type { createRunnerApi } from "./runner-api.ts";
import type { RunnerAccess } from "../jobs/runner-access.ts";

/** Everything that the HTTP interface needs. */
export type ServiceAppDeps = Omit<ServiceTaskDeps, "pool" | "stationOf" | "runningTurns" | "notes"> & {
  /** What runners call. */
  runnerApi: ReturnType<typeof createRunnerApi>;
  checkKey: KeyCheck;
  /** Accepts a request. When this resolves, an accepted one is durable and will run soon. */
  accept: (request: TurnRequest) => Promise<Acceptance>;
  /**
   * Called after turns of a job were ended, so that their agents stop and the next turn runs soon.
   * `canceled` is how many of them were canceled.
   */
  onEnded: (jobId: string, canceled: number) => void;
  runnerAccess: RunnerAccess;
  /** Finds out soon how a job's pull request stands. */
  lookAtPull: (jobId: string) => Promise<void>;
  /**
   * Asks the code host if a job's pull request lacks commits of its base branch. Null if it doesn't
   * say.
   */
  isBehind: (jobId: string) => Promise<boolean | null>;
  /** Takes a webhook of the code host's, with the signature of its body. */
  takeWebhook: (
    projectId: string,
    signature: string,
    body: string,
  ) => Promise<"taken" | "ignored" | "forged" | "absent">;
  /** Rejects while no requests can be accepted. */
  ready: () => Promise<TaskCounts>;
  publicBaseUrl: string | null;
};
