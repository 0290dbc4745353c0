import { z } from "zod";
import { FollowedPullRequest, Review } from "../core/ports/job-report.ts";
import { clipped, Millis, orNull, readableItems, SHOWN_CHARS, Time } from "../core/ports/reading.ts";
import { cut } from "../core/text/text.ts";

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
    state: state.describe("Whether it is open."),
    isDraft: z.boolean().describe("Whether it is a draft."),
    review: review.describe("What the newest review of each reviewer comes to."),
    checks: z
      .object({
        state: checks.shape.state.describe("`unknown`: the code host doesn't let the service read them."),
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
          at: Time.describe("When."),
        }),
      )
      .max(MAX_REVIEWS)
      .describe("The newest 20, the oldest first."),
    waitingFor: z.array(z.string()).max(MAX_NAMES).describe("Whose review was asked for and isn't there."),
    mergeable: z.boolean().nullable().describe("Whether it can be merged; null: not known yet."),
    blockedBy: blockedBy.describe("Why it can't be merged; null: it can, or the code host doesn't say."),
    headSha: z.string().describe("The newest commit, which all this is about."),
    isVisible: z.boolean().describe("`false`: the service can't see it anymore; this is what it saw last."),
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
  })
  // Without an id, a review is what it says.
  .transform(({ id, ...review }) => ({ id: id ?? cut(JSON.stringify(review), SHOWN_CHARS.line), ...review }));

/** Only the state has to be there: a service may tell less than ours. */
export const ReceivedFollowedPullRequest = z.object({
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
