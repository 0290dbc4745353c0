import { z } from "zod";
import {
  FailureCause,
  MAX_CHECKS,
  MAX_CONTEXT,
  MAX_FINDINGS,
  MAX_NOTES,
  MAX_PLAN_STEPS,
  PlanStep,
  ReportedCheck,
  ReportedOutcome,
  ReportedTurn,
  WireClaims,
} from "./job-report.ts";
import { Count, Time } from "./reading.ts";
import { LeftPullRequest } from "./pull-request.ts";

export const MAX_QUESTIONS = 20;
/** The most UTF-16 units of an answer in words. */
export const MAX_ANSWER_CHARS = 4000;
export const MAX_CHOICES = 10;

/** A turn's usage, in wire format. */
export const WireUsage = z
  .object({
    inputTokens: Count.nullable().describe("Tokens sent to models, or null if not counted."),
    outputTokens: Count.nullable().describe("Tokens that models wrote, or null if not counted."),
    cachedInputTokens: Count.nullable().describe("How many of `inputTokens` came from a cache."),
    calls: Count.nullable().describe("Calls of models, or null if not counted."),
    costUsd: z.number().min(0).nullable().describe("The cost in US dollars, or null if unknown."),
  })
  .meta({ id: "Usage", description: "What the models used, all calls and attempts of the turn together." });
export type WireUsage = z.input<typeof WireUsage>;

/** The result of one check, in wire format. */
export const WireCheck = z
  .object({
    name: z.string().describe("Its name in the project's settings."),
    result: ReportedCheck.shape.result.describe(
      "`failed`: there are new findings. `unchanged`: there are none, but it fails without the change, " +
        "too. `not-checked`: it couldn't run. Later versions may add values.",
    ),
    findings: z
      .array(z.string())
      .max(MAX_FINDINGS)
      .describe("What is new against the base, one line each. For `not-checked`, the reason."),
  })
  .meta({ id: "Check", description: "What one of the project's checks found in the change." });

/** A context repository that a turn's agent could read, in wire format. */
export const WireContext = z
  .object({
    name: z.string().describe("Its name in the project's settings."),
    commit: z.string().describe("The commit that the agent could read."),
  })
  .meta({ id: "Context", description: "A repository that the agent could read." });

/** One turn of a job, in wire format. Times are ISO 8601, UTC. */
export const WireTurn = z
  .object({
    number: z.int().min(1).describe("1 is the create, the others are messages."),
    status: ReportedTurn.shape.status.describe("Whether it waits, runs or has ended."),
    outcome: ReportedOutcome.nullable().describe(
      "How it ended; null until then. `branch`: the changes are on a branch, and there is no code host.",
    ),
    reason: z.string().nullable().describe("Why it ended like this, or why its last attempt broke off."),
    cause: FailureCause.optional().describe(
      "Why it failed, if the requester can do something about it. Later versions may add values.",
    ),
    summary: z.string().nullable().describe("The agent's own last words."),
    step: z.string().nullable().describe("What the agent does now, in one line."),
    plan: z
      .array(
        z.object({
          text: z.string().describe("What the agent means to do."),
          status: PlanStep.shape.status.describe("The step's progress."),
        }),
      )
      .max(MAX_PLAN_STEPS)
      .describe("The agent's plan."),
    usage: WireUsage.nullable(),
    pullRequest: LeftPullRequest.nullable(),
    branch: z.string().nullable().describe("The branch with the changes, while they have no pull request."),
    acceptedAt: Time.describe("When the request was accepted."),
    startedAt: Time.nullable().describe("When its last attempt started."),
    endedAt: Time.nullable().describe("When it ended."),
    leftOut: z.array(z.string()).describe("Files that the agent changed outside the project's docs."),
    answer: z.string().nullable().describe("What the agent answered where it changed nothing."),
    checks: z.array(WireCheck).max(MAX_CHECKS).describe("How the project's checks went."),
    claims: WireClaims.nullable().describe("Sources of what was written, or null if nothing was changed."),
    context: z.array(WireContext).max(MAX_CONTEXT).describe("Which other repositories the agent could read."),
    notes: z.array(z.string()).max(MAX_NOTES).describe("What else people should know, a sentence each."),
  })
  .meta({ id: "Turn", description: "One prompt given to a job, and how it went. Times are ISO 8601, UTC." });
export type WireTurn = z.input<typeof WireTurn>;

/** A question of the agent's, in wire format. */
export const WireQuestion = z
  .object({
    id: z.string().min(1).describe("Goes into `questionId` of the answer."),
    turn: z.int().min(1).describe("The number of the turn that asks."),
    text: z.string().describe("The question."),
    choices: z
      .array(
        z.object({
          id: z.string().describe("Goes into `choice` of the answer."),
          label: z.string().describe("What a person reads."),
        }),
      )
      .max(MAX_CHOICES)
      .describe("The choices."),
    allowsText: z.boolean().describe("Whether the answer may be free text."),
    askedAt: Time.describe("When the agent asked."),
    answeredAt: Time.nullable().describe("When it was answered, or null while it is open."),
  })
  .meta({ id: "Question", description: "What the agent asks while its turn runs." });
export type WireQuestion = z.input<typeof WireQuestion>;
