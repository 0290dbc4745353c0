import { z } from "zod";
import { JobDiff } from "../../../shared/contract/diff.ts";
import type { ServiceConfig } from "../../config/config.ts";
import {
  AgentQuestion,
  type CloseInput,
  CloseResult,
  type DiffInput,
  RunTurnResult,
  RunnerReport,
  type UpkeepInput,
} from "../runner.ts";
import type { RunnerTurn } from "../turn-context.ts";
import type { QuestionAnswer } from "../../../shared/contract/question.ts";

/** What a runner must know before it runs turns. Secrets are in its own environment. */
export type RunnerSettings = Pick<ServiceConfig, "dataDir" | "containment" | "logLevel" | "projects">;

/**
 * Messages from the service to a runner, as plain JSON. `run` identifies one run of a turn or of
 * upkeep, and `question` one question of this run. `open` comes first, and only once.
 */
export type ToRunner =
  | { kind: "open"; settings: RunnerSettings }
  | { kind: "start"; run: number; turn: RunnerTurn }
  | { kind: "abort"; run: number }
  | { kind: "answer"; run: number; question: number; answer: QuestionAnswer | null }
  | { kind: "upkeep"; run: number; projects: UpkeepInput["projects"]; unfinished: string[] }
  | { kind: "diff"; run: number; of: Omit<DiffInput, "signal"> }
  | { kind: "close"; run: number; of: Omit<CloseInput, "signal"> }
  /** Asks for a sign of life. */
  | { kind: "ping" };

const run = z.int();

/**
 * Messages from a runner to the service. A run ends with `result`, `done` (upkeep), `diff`,
 * `close` or `failed`. `failed` means that it couldn't be carried out now, or was aborted. There
 * are few reports, whatever an agent does. See `createReporter`.
 */
export const FromRunner = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("opened") }),
  z.object({ kind: z.literal("unopened"), problem: z.string() }),
  z.object({ kind: z.literal("report"), run, report: RunnerReport }),
  z.object({ kind: z.literal("ask"), run, question: z.int(), asked: AgentQuestion }),
  z.object({ kind: z.literal("result"), run, result: RunTurnResult }),
  z.object({ kind: z.literal("done"), run }),
  z.object({ kind: z.literal("diff"), run, diff: JobDiff.nullable() }),
  z.object({ kind: z.literal("close"), run, became: CloseResult }),
  z.object({
    kind: z.literal("failed"),
    run,
    reason: z.string(),
    details: z.array(z.string()),
    retryAfterMs: z.number().nullable(),
  }),
  z.object({ kind: z.literal("pong") }),
]);
export type FromRunner = z.infer<typeof FromRunner>;
