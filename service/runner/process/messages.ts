import { z } from "zod";
import { JobDiff } from "../../../src/core/ports/job-report.ts";
import type { QuestionAnswer } from "../../../src/core/ports/job-service.ts";
import { WireQuestion } from "../../../src/job-client/report-schema.ts";
import type { ServiceConfig } from "../../config/config.ts";
import { type RunTurnInput, RunTurnResult, TurnNews } from "../turn-runner.ts";

/** What a runner must know before it runs turns. Secrets are in its own environment. */
export type RunnerSettings = Pick<ServiceConfig, "dataDir" | "containment" | "logLevel" | "projects">;

/** The parts of a turn's input that have messages of their own. */
export type TurnCalls = Pick<RunTurnInput, "signal" | "report" | "ask">;

/** A turn, as a runner gets it. Its files are those in the service's folder for attachments. */
export type TurnOrder = Omit<RunTurnInput, keyof TurnCalls | "project" | "attachments"> & {
  projectId: string;
  attachments: { file: string; name: string; mediaType: string; bytes: number }[];
};

/**
 * Messages from the service to a runner, as plain JSON. `run` identifies one run of a turn or of
 * upkeep, and `question` one question of this run. `open` comes first, and only once.
 */
export type ToRunner =
  | { kind: "open"; settings: RunnerSettings }
  | { kind: "start"; run: number; turn: TurnOrder }
  | { kind: "abort"; run: number }
  | { kind: "answer"; run: number; question: number; answer: QuestionAnswer | null }
  | { kind: "upkeep"; run: number; unfinished: string[] }
  | { kind: "diff"; run: number; projectId: string; jobId: string; head: string | null }
  /** Asks for a sign of life. */
  | { kind: "ping" };

const run = z.int();

/**
 * Messages from a runner to the service. A run ends with `result`, `done` (upkeep), `diff` or
 * `failed`. `failed` means that it couldn't be carried out now, or was aborted. There are few
 * reports, whatever an agent does. See `Reporter`.
 */
export const FromRunner = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("opened") }),
  z.object({ kind: z.literal("unopened"), problem: z.string() }),
  z.object({ kind: z.literal("report"), run, news: TurnNews }),
  z.object({
    kind: z.literal("ask"),
    run,
    question: z.int(),
    text: z.string(),
    choices: WireQuestion.shape.choices,
    allowsText: z.boolean(),
  }),
  z.object({ kind: z.literal("result"), run, result: RunTurnResult }),
  z.object({ kind: z.literal("done"), run }),
  z.object({ kind: z.literal("diff"), run, diff: JobDiff.nullable() }),
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
