import { z } from "zod";
import { JobDiff } from "../../shared/contract/diff.ts";
import { QuestionAnswer } from "../../shared/contract/question.ts";
import { RunnerNeed } from "../config/needs.ts";
import {
  AgentQuestion,
  type CloseInput,
  CloseResult,
  type DiffInput,
  RunnerReport,
  RunTurnResult,
  type TurnAttachment,
  type UpkeepInput,
} from "./runner.ts";
import type { RunnerTurn } from "./turn-context.ts";

/** What a runner and a service must have in common. Another number is refused. */
export const PROTOCOL = 1;
/** Carries the token of a piece of work's lease. */
export const LEASE_HEADER = "docs-agent-lease";
/** Stands between a runner's token and a lease's in the key with which models are called. */
export const KEYS_BETWEEN = ".";
/** How long a runner's question for work is held open, milliseconds. */
export const CLAIM_MS = 25_000;
/** The longest time after which a runner gives a sign of life for each piece of work. */
export const REPORT_WITHIN_MS = 5_000;
/** How long a lease lasts from each report on. */
export const LEASE_MS = 60_000;
/** A runner stops this long before the end of a lease that it can't renew. */
export const STOP_BEFORE_END_MS = 15_000;

/** What a runner says of itself when it asks for work. */
export const ClaimRequest = z.strictObject({
  protocol: z.int(),
  version: z.string().max(100),
  /** The same as long as the runner's folder is, where sessions of agents and clones lie. */
  machine: z.string().min(1).max(100),
  /** Another one for each process, which tells when an earlier one is gone. */
  session: z.string().min(1).max(100),
  /** How many turns it can run at once. */
  places: z.int().min(0).max(1000),
  labels: z.array(z.string().max(100)).max(50),
  /** The projects whose keys it has. Null means all. */
  projects: z.array(z.string().max(200)).max(1000).nullable(),
});
export type ClaimRequest = z.infer<typeof ClaimRequest>;

/** What a runner elsewhere has to know before it asks for work. */
export const AboutAnswer = z.object({
  version: z.string(),
  protocol: z.int(),
  leaseMs: z.number(),
  /** The projects that it may run. */
  projects: z.array(z.object({ id: z.string(), labels: z.array(z.string()), needs: z.array(RunnerNeed) })),
});
export type AboutAnswer = z.infer<typeof AboutAnswer>;

/** Says that a runner and a service have other protocols, and what to upgrade. */
export function misfit({ runner, service }: { runner: number; service: number }): string {
  const toUpgrade = runner < service ? "the runner" : "the job service";
  return `Runner and job service don't fit each other (${runner} and ${service}). Upgrade ${toUpgrade}.`;
}

/** A turn as a runner elsewhere gets it. It asks for the attachments' contents. */
export type SentTurn = Omit<RunnerTurn, "attachments"> & {
  attachments: readonly Omit<TurnAttachment, "path">[];
};

/** What there is to do. Plain JSON, and no path but those of the settings. */
export type Order =
  | { kind: "turn"; turn: SentTurn }
  | { kind: "diff"; of: Omit<DiffInput, "signal" | "notes" | "lent"> }
  | { kind: "close"; of: Omit<CloseInput, "signal" | "notes" | "lent"> }
  | { kind: "upkeep"; projects: UpkeepInput["projects"]; unfinished: string[] };

/** An order with its lease. `run` is a number that no other work has since the service's start. */
export type LeasedWork = Order & { id: string; token: string; run: number; leaseMs: number | null };

/** The service is believed: it says what runs where. */
export const ClaimAnswer = z.object({ work: z.custom<LeasedWork>().nullable() });

/** How a turn goes on. A repetition has the same `number`, and only the first one counts. */
export const ReportRequest = z.strictObject({
  number: z.int(),
  report: RunnerReport,
  /** The agent's questions that wait for an answer, each with a number of its own. */
  questions: z.array(z.strictObject({ question: z.int(), asked: AgentQuestion })).max(100),
  /** How long the answer may be held until there is something to tell. */
  waitMs: z.int().min(0).max(REPORT_WITHIN_MS),
});
export type ReportRequest = z.infer<typeof ReportRequest>;

/** Why the service can't lend something, beside the reason. `isFinal`: asking again is no use. */
export const LentFault = z.object({
  isFinal: z.boolean(),
  details: z.array(z.string()),
  retryAfterMs: z.number().nullable(),
});

/** What a runner has to know. `leaseMs` is how long the lease lasts from now on, or null. */
export const ReportAnswer = z.object({
  isAborted: z.boolean(),
  answers: z.array(z.object({ question: z.int(), answer: QuestionAnswer.nullable() })),
  leaseMs: z.number().nullable(),
});
export type ReportAnswer = z.infer<typeof ReportAnswer>;

/**
 * What came of a piece of work. `failed` means that it couldn't be carried out now, or was aborted,
 * and `stopped` that the runner ends on purpose, so that somebody else may do it.
 */
export const WorkResult = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("turn"), result: RunTurnResult }),
  z.object({ kind: z.literal("upkeep") }),
  z.object({ kind: z.literal("stopped") }),
  z.object({ kind: z.literal("diff"), diff: JobDiff.nullable() }),
  z.object({ kind: z.literal("close"), became: CloseResult }),
  z.object({
    kind: z.literal("failed"),
    reason: z.string().max(5000),
    details: z.array(z.string().max(5000)).max(200),
    retryAfterMs: z.number().nullable(),
  }),
]);
export type WorkResult = z.infer<typeof WorkResult>;
