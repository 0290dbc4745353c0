import { z } from "zod";
import { clipped, Count, Time, orNull, readableItems, SHOWN_CHARS } from "./reading.ts";
import { lenient } from "./lenient.ts";
import { LeftPullRequest } from "./pull-request.ts";

/** The most turns that a record shows. The newest stay. */
export const MAX_SHOWN_TURNS = 20;
export const MAX_PLAN_STEPS = 20;
export const MAX_LEFT_OUT = 20;
/** A record is bounded: what a turn may have of these is little. */
export const MAX_CHECKS = 10;
export const MAX_FINDINGS = 5;
export const MAX_CONTEXT = 10;
export const MAX_NOTES = 10;
/** The most choices that are read from a service that offers more than ours. */
const MAX_READ_CHOICES = 100;

const Line = clipped(SHOWN_CHARS.line);

/**
 * How a turn ended, in the job service's words. `branch` means that the changes are on a branch,
 * because there is no code host to ask.
 */
export const ReportedOutcome = z.enum([
  "pull-request",
  "branch",
  "no-changes",
  "failed",
  "cancelled",
  "archived",
]);
export type ReportedOutcome = z.infer<typeof ReportedOutcome>;

/** Why a turn failed, if the requester can do something about it. */
export const FailureCause = z.enum(["time-limit", "budget"]);
export type FailureCause = z.infer<typeof FailureCause>;

/** One step of the agent's plan. */
export const PlanStep = z.object({ text: Line, status: z.enum(["pending", "in-progress", "completed"]) });
export type PlanStep = z.infer<typeof PlanStep>;

/**
 * What the models used in all calls of the turn. The counts are null if only the agent's own word
 * for its cost is known.
 */
const ReportedUsage = z.object({
  inputTokens: orNull(Count),
  outputTokens: orNull(Count),
  /** The part of `inputTokens` that came from a cache. */
  cachedInputTokens: orNull(Count),
  calls: orNull(Count),
  /** Null if there is no price. */
  costUsd: orNull(z.number().min(0)),
});
export type ReportedUsage = z.infer<typeof ReportedUsage>;

/**
 * The result of one of the project's checks. `failed` lists what is new compared with the base, one
 * line each. `unchanged` has nothing new, but fails without the change, too. `not-checked` couldn't
 * run, and says nothing about the change.
 */
export const ReportedCheck = z.object({
  name: Line,
  result: z.enum(["passed", "failed", "unchanged", "not-checked"]),
  findings: readableItems(Line, MAX_FINDINGS),
});
export type ReportedCheck = z.infer<typeof ReportedCheck>;

/** What is said of a check that fails as it does without the change. */
export const NOTHING_NEW = "nothing new; it fails without the change, too";

/** The number of findings that a list stands for. Its last line may be `… and 7 more`. */
export function countFindings(findings: readonly string[]): number {
  const more = /^… and (\d{1,9}) more$/.exec(findings.at(-1) ?? "")?.[1];
  return more === undefined ? findings.length : findings.length - 1 + Number(more);
}

/** The numbers of statements about a change, and of those that code says, as sent and read. */
export const WireClaims = z
  .object({
    total: Count.describe("Statements in the change that the agent gave a source for."),
    verified: Count.describe("Those whose quote stands in code, configuration or a specification."),
  })
  .meta({ id: "Claims", description: "The sources of what the agent wrote, counted." });
export type ReportedClaims = z.infer<typeof WireClaims>;

/**
 * A turn as the job service reports it (untrusted text, bounded). Times are epoch milliseconds.
 * Unknown fields are null.
 */
export const ReportedTurn = z.object({
  /** 1 is the create. The others are messages, in order. */
  number: z.int().min(1),
  status: z.enum(["waiting", "running", "ended"]),
  outcome: orNull(ReportedOutcome),
  /** Why the turn ended like this, or why its last attempt broke off. */
  reason: orNull(clipped(SHOWN_CHARS.reason)),
  /** Absent if it is another cause, or the service didn't say. */
  cause: FailureCause.optional().catch(undefined),
  /** The agent's last words. */
  summary: orNull(clipped(SHOWN_CHARS.summary)),
  /** The agent's latest step. */
  step: orNull(Line),
  plan: readableItems(PlanStep, MAX_PLAN_STEPS),
  usage: orNull(ReportedUsage),
  pullRequest: lenient(LeftPullRequest.nullable()),
  /** The branch with the changes, if there is no code host. */
  branch: orNull(Line),
  startedAt: orNull(Time),
  endedAt: orNull(Time),
  /** The agent's answer if it changed nothing. */
  answer: orNull(clipped(SHOWN_CHARS.summary)),
  checks: readableItems(ReportedCheck, MAX_CHECKS),
  claims: orNull(WireClaims),
  /** The commits of context repositories that the agent could read. */
  context: readableItems(z.object({ name: Line, commit: Line }), MAX_CONTEXT),
  /** Other things people should know about the turn, one sentence each. */
  notes: readableItems(Line, MAX_NOTES),
});
export type ReportedTurn = z.infer<typeof ReportedTurn>;

/** A question that the agent asks a person. It is open until it is answered or its turn ends. */
export const ReportedQuestion = z.object({
  id: z.string().min(1).max(SHOWN_CHARS.line),
  /** The number of the turn that asks. */
  turn: z.int().min(1),
  text: clipped(SHOWN_CHARS.reason),
  choices: readableItems(
    z.object({ id: z.string().min(1).max(SHOWN_CHARS.line), label: Line }),
    MAX_READ_CHOICES,
  ),
  /** True if people may answer in their own words. */
  allowsText: z.boolean().catch(false),
  answeredAt: orNull(Time),
});
export type ReportedQuestion = z.infer<typeof ReportedQuestion>;

/** What a diff has at most. `bytes` are those of its text as it is sent, in JSON. */
export const DIFF_LIMITS = { files: 300, bytes: 512 * 1024, lineChars: 500 } as const;

/** What a job's branch changes against its base (untrusted text, bounded). */
export const JobDiff = z
  .object({
    files: z
      .array(
        z.object({
          path: z.string().describe("The file's path for display: shortened, without control characters."),
          status: z
            .enum(["added", "changed", "removed"])
            .describe("What happened to it. A renamed file is removed and added."),
          additions: Count.nullable().describe("Added lines, or null if it isn't text."),
          deletions: Count.nullable().describe("Removed lines, or null if it isn't text."),
        }),
      )
      .max(DIFF_LIMITS.files)
      .describe(`The first ${DIFF_LIMITS.files} changed files, by path.`),
    fileCount: Count.describe("All changed files."),
    diff: z
      .string()
      .describe(
        `As git writes it, at most ${DIFF_LIMITS.bytes} bytes. Lines are cut after ` +
          `${DIFF_LIMITS.lineChars} characters. Files that aren't text are only named.`,
      ),
    isCut: z.boolean().describe("True if files, lines or parts of lines are missing."),
  })
  .meta({ id: "Diff", description: "What a job's branch changes against its base." });
export type JobDiff = z.infer<typeof JobDiff>;
