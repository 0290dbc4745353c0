import { hash } from "node:crypto";
import { z } from "zod";
import {
  FailureCause,
  MAX_CHECKS,
  MAX_CONTEXT,
  MAX_FINDINGS,
  MAX_NOTES,
  MAX_PLAN_STEPS,
  MAX_SHOWN_TURNS,
  PlanStep,
  ReportedCheck,
  ReportedOutcome,
  ReportedPullRequest,
  ReportedQuestion,
  ReportedTurn,
  FollowedPullRequest,
  Review,
  WireClaims,
} from "./job-report.ts";
import { Time, orNull, readableItems, clipped, Millis, SHOWN_CHARS } from "./reading.ts";
import type { JobReport } from "./job.ts";

const Count = z.int().min(0);

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
export type WireUsage = z.infer<typeof WireUsage>;

/** A turn's pull request, in wire format. */
export const WirePullRequest = z
  .object({
    url: z.string().describe("Its page."),
    number: z.int().min(1).describe("Its number at the code host."),
    title: z.string().describe("Its title."),
    state: ReportedPullRequest.shape.state.describe("How the turn left it."),
    files: Count.nullable().describe("Changed files."),
    additions: Count.nullable().describe("Added lines."),
    deletions: Count.nullable().describe("Removed lines."),
    headRef: z.string().describe("Its branch."),
    headSha: z.string().describe("The branch's newest commit."),
    isDraft: z.boolean().optional().describe("Whether it is a draft. Absent if the code host didn't say."),
    isEmpty: z
      .boolean()
      .optional()
      .describe("True if merging it would change nothing anymore. Otherwise absent."),
  })
  .meta({
    id: "PullRequest",
    description: "A pull request as the turn left it, or null if the code host didn't say.",
  });

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
    pullRequest: WirePullRequest.nullable(),
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
export type WireTurn = z.infer<typeof WireTurn>;

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
export type WireQuestion = z.infer<typeof WireQuestion>;

/** The most reviews that a record shows, and names in each of its lists. */
export const MAX_REVIEWS = 20;
export const MAX_NAMES = 20;

const { state, review, checks, blockedBy } = FollowedPullRequest.shape;

/** A job's pull request as it stands at the code host now, in wire format. */
export const WireFollowedPullRequest = z
  .object({
    url: z.string().describe("Its page."),
    number: z.int().min(1).describe("Its number at the code host."),
    title: z.string().describe("Its title."),
    state: state.describe("Whether it is open, closed or merged."),
    isDraft: z.boolean().describe("Whether it is a draft."),
    review: review.describe("The result of all reviews, counting each reviewer's newest."),
    checks: z
      .object({
        state: checks.shape.state.describe("`unknown` if the code host doesn't let the service read them."),
        failed: z
          .array(z.string())
          .max(MAX_NAMES)
          .describe("The names of those that failed and didn't fail before the change."),
      })
      .describe("The checks of the newest commit."),
    reviews: z
      .array(
        z.object({
          id: z.string().min(1).describe("The review's id."),
          author: z.string().describe("Who wrote it."),
          words: z.string().describe("What they wrote."),
          state: Review.shape.state.describe("What they chose."),
          at: Time.describe("When it was written."),
          headSha: z
            .string()
            .nullable()
            .default(null)
            .describe("The commit that was reviewed, or null if it isn't known."),
        }),
      )
      .max(MAX_REVIEWS)
      .describe("The newest 20, the oldest first."),
    waitingFor: z
      .array(z.string())
      .max(MAX_NAMES)
      .describe("Reviewers who were asked and haven't reviewed yet."),
    mergeable: z.boolean().nullable().describe("Whether it can be merged, or null while that isn't known."),
    blockedBy: blockedBy.describe("Why it can't be merged. Null if it can, or if the code host doesn't say."),
    headSha: z.string().describe("The newest commit. Everything here is about it."),
    isVisible: z.boolean().describe("False if the service can't see it anymore. This is what it saw last."),
    openedAt: Time.describe("When it was opened."),
  })
  .meta({ id: "FollowedPullRequest", description: "The job's newest pull request as it stands now." });
export type WireFollowedPullRequest = z.infer<typeof WireFollowedPullRequest>;

const Name = clipped(SHOWN_CHARS.path);
const Line = clipped(SHOWN_CHARS.line);
const ReceivedReview = z
  .object({
    id: orNull(z.string().min(1).max(SHOWN_CHARS.line)),
    author: Name,
    words: clipped(SHOWN_CHARS.reason).catch(""),
    state: Review.shape.state,
    at: orNull(Millis),
    headSha: orNull(Line),
  })
  // Without an id, a review is what it says.
  .transform(({ id, headSha, ...review }) => ({
    id: id ?? hash("sha256", JSON.stringify(review)),
    headSha,
    ...review,
  }));

/** Only the state has to be there: a service may tell less than ours. */
const ReceivedFollowedPullRequest = z.object({
  url: orNull(z.string()),
  title: orNull(Line),
  state,
  isDraft: z.boolean().catch(false),
  review: review.catch("none"),
  checks: z
    .object({ state: checks.shape.state, failed: readableItems(Name, MAX_NAMES) })
    .catch({ state: "unknown", failed: [] }),
  reviews: readableItems(ReceivedReview, MAX_REVIEWS),
  waitingFor: readableItems(Name, MAX_NAMES),
  mergeable: orNull(z.boolean()),
  blockedBy: orNull(blockedBy),
  headSha: orNull(Line),
  isVisible: z.boolean().catch(true),
  openedAt: orNull(Millis),
}) satisfies z.ZodType<FollowedPullRequest>;

/**
 * What a client reads of a record beyond the contract. Never fails: unreadable parts are left out.
 */
export const ReceivedReport = z.object({
  turns: orNull(z.array(z.unknown()).pipe(readableItems(ReportedTurn, MAX_SHOWN_TURNS))),
  questions: orNull(z.array(z.unknown()).pipe(readableItems(ReportedQuestion, MAX_QUESTIONS))),
  pullRequest: orNull(ReceivedFollowedPullRequest),
}) satisfies z.ZodType<JobReport>;
