import { z } from "zod";
import { MAX_CHECKS, ProjectCheck } from "./checks.ts";
import { LeftPullRequest } from "./pull-request.ts";
import { Count, SHOWN_CHARS, Time } from "./reading.ts";

/** The most turns that a record shows. The newest stay. */
export const MAX_SHOWN_TURNS = 20;
export const MAX_PLAN_STEPS = 20;
export const MAX_LEFT_OUT = 20;
export const MAX_CONTEXT = 10;
export const MAX_NOTES = 10;

const Line = z.string().max(SHOWN_CHARS.line);
const Summary = z.string().max(SHOWN_CHARS.summary);

/**
 * How a turn ended, in the job service's words. `branch` means that the changes are on a branch,
 * because there is no code host to ask.
 */
export const TurnOutcome = z.enum([
  "pull-request",
  "branch",
  "no-changes",
  "failed",
  "cancelled",
  "archived",
]);
export type TurnOutcome = z.infer<typeof TurnOutcome>;

/**
 * What a turn does: what a create or a message says, or, from level 2 on, answer reviews and failed
 * checks of the pull request, or bring its branch up to date. From level 3 on, `ask` answers what a
 * person says and changes nothing.
 */
export const TurnKind = z.enum(["message", "address", "update", "ask"]);
export type TurnKind = z.infer<typeof TurnKind>;

/** The kinds of turns that do something about a pull request, without a prompt. */
export const TurnAct = TurnKind.exclude(["message", "ask"]);
export type TurnAct = z.infer<typeof TurnAct>;

/** Why a turn failed, if the requester can do something about it. */
export const FailureCause = z.enum(["time-limit", "budget"]);
export type FailureCause = z.infer<typeof FailureCause>;

/** One step of the agent's plan (untrusted text, bounded). */
export const PlanStep = z.object({
  text: Line.describe("What the agent means to do."),
  status: z.enum(["pending", "in-progress", "completed"]).describe("The step's progress."),
});
export type PlanStep = z.infer<typeof PlanStep>;

/**
 * What the models used in all calls of the turn. The counts are null if only the agent's own word
 * for its cost is known. The cost is null if there is no price.
 */
export const Usage = z
  .object({
    inputTokens: Count.nullable().describe("Tokens sent to models, or null if not counted."),
    outputTokens: Count.nullable().describe("Tokens that models wrote, or null if not counted."),
    cachedInputTokens: Count.nullable().describe("How many of `inputTokens` came from a cache."),
    calls: Count.nullable().describe("Calls of models, or null if not counted."),
    costUsd: z.number().min(0).nullable().describe("The cost in US dollars, or null if unknown."),
  })
  .meta({ id: "Usage", description: "What the models used, all calls and attempts of the turn together." });
export type Usage = z.infer<typeof Usage>;

/** The numbers of statements about a change, and of those that code says. */
export const Claims = z
  .object({
    total: Count.describe("Statements in the change that the agent gave a source for."),
    verified: Count.describe("Those whose quote stands in code, configuration or a specification."),
  })
  .meta({ id: "Claims", description: "The sources of what the agent wrote, counted." });
export type Claims = z.infer<typeof Claims>;

/** A context repository that a turn's agent could read (untrusted text, bounded). */
export const ReadContext = z
  .object({
    name: Line.describe("Its name in the project's settings."),
    commit: Line.describe("The commit that the agent could read."),
  })
  .meta({ id: "Context", description: "A repository that the agent could read." });

/** Why a turn waits although there is room for it, and until when (untrusted text, bounded). */
export const Held = z
  .object({
    reason: Line.describe("Why it waits, a sentence for people."),
    until: Time.describe("When it starts at the earliest."),
  })
  .meta({ id: "Held", description: "What a turn waits for beside room." });
export type Held = z.infer<typeof Held>;

/** One turn of a job (untrusted text, bounded). */
export const JobTurn = z
  .object({
    number: z.int().min(1).describe("1 is the create, the others are messages."),
    kind: TurnKind.optional().describe(
      "`address`: it answers reviews and failed checks. `update`: it brings the branch up to date. " +
        "`ask`: it answers and changes nothing. Absent for a create or a message.",
    ),
    isUnasked: z
      .boolean()
      .optional()
      .describe("True if nobody asked for it: the project's settings did. Otherwise absent."),
    status: z.enum(["waiting", "running", "ended"]).describe("Whether it waits, runs or has ended."),
    outcome: TurnOutcome.nullable().describe(
      "How it ended; null until then. `branch`: the changes are on a branch, and there is no code host.",
    ),
    reason: z
      .string()
      .max(SHOWN_CHARS.reason)
      .nullable()
      .describe("Why it ended like this, or why its last attempt broke off."),
    held: Held.optional().describe(
      "Set while it waits until a certain time, for example because the project's budget is used up.",
    ),
    cause: FailureCause.optional().describe(
      "Why it failed, if the requester can do something about it. Later versions may add values.",
    ),
    summary: Summary.nullable().describe("The agent's own last words."),
    step: Line.nullable().describe("What the agent does now, in one line."),
    plan: z.array(PlanStep).max(MAX_PLAN_STEPS).describe("The agent's plan."),
    usage: Usage.nullable(),
    pullRequest: LeftPullRequest.nullable(),
    branch: Line.nullable().describe("The branch with the changes, while they have no pull request."),
    acceptedAt: Time.describe("When the request was accepted."),
    startedAt: Time.nullable().describe("When its last attempt started."),
    endedAt: Time.nullable().describe("When it ended."),
    leftOut: z
      .array(z.string().max(SHOWN_CHARS.path))
      .max(MAX_LEFT_OUT + 1)
      .describe("Files that the agent changed outside the project's docs."),
    answer: Summary.nullable().describe("What the agent answered where it changed nothing."),
    checks: z.array(ProjectCheck).max(MAX_CHECKS).describe("How the project's checks went."),
    claims: Claims.nullable().describe("Sources of what was written, or null if nothing was changed."),
    context: z.array(ReadContext).max(MAX_CONTEXT).describe("Which other repositories the agent could read."),
    notes: z.array(Line).max(MAX_NOTES).describe("What else people should know, a sentence each."),
  })
  .meta({ id: "Turn", description: "One prompt given to a job, and how it went. Times are ISO 8601, UTC." });
export type JobTurn = z.infer<typeof JobTurn>;
