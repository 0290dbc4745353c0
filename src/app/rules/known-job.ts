import { z } from "zod";
import { JobChanges } from "../../shared/contract/feed.ts";
import { ContractJob } from "../../shared/contract/job.ts";
import { lenient } from "../../shared/contract/lenient.ts";
import { FollowedPullRequest, MAX_REVIEWS, Review } from "../../shared/contract/pull-request.ts";
import { JobQuestion, MAX_QUESTIONS, QuestionChoice } from "../../shared/contract/question.ts";
import { readableItems, storedObject } from "../../shared/contract/reading.ts";
import { WaitingReviews } from "../../shared/contract/waiting-reviews.ts";
import { JobTurn, MAX_SHOWN_TURNS } from "../../shared/contract/turn.ts";

/** The most choices that are read from a service that offers more than ours. */
const MAX_READ_CHOICES = 100;

const { id, status, source, model, prLink } = ContractJob.shape;
const { repository, ref } = source.shape;

/**
 * A job as the app knows and stores it: flat, without its times, and with null for what another
 * service than ours leaves out. `prLink` is untrusted: `messages/links.ts` says if it is a link.
 */
export const KnownJob = storedObject({
  id,
  status,
  repository: repository.nullable(),
  ref,
  model: model.nullable(),
  prLink,
});
export type KnownJob = z.infer<typeof KnownJob>;

const { url, title, headSha, openedAt } = FollowedPullRequest.shape;

const KnownReview = Review.extend({ at: Review.shape.at.nullable() });
/** A review as the app knows it. `at` is null if the service didn't say. */
export type KnownReview = z.infer<typeof KnownReview>;

/**
 * A followed pull request as the app knows it. What another service than ours may leave out is
 * null. If that is the `url`, it is the job's `prLink`.
 */
export const KnownPullRequest = FollowedPullRequest.omit({ number: true }).extend({
  url: url.nullable(),
  title: title.nullable(),
  headSha: headSha.nullable(),
  openedAt: openedAt.nullable(),
  reviews: z.array(KnownReview).max(MAX_REVIEWS),
});
export type KnownPullRequest = z.infer<typeof KnownPullRequest>;

/** A turn as the app knows it: nothing shows the rest. */
const KnownTurn = JobTurn.omit({ acceptedAt: true, leftOut: true });
export type KnownTurn = z.infer<typeof KnownTurn>;

/** A question as the app knows it: nothing shows the rest. */
const KnownQuestion = JobQuestion.omit({ askedAt: true }).extend({
  choices: z.array(QuestionChoice).max(MAX_READ_CHOICES),
});
export type KnownQuestion = z.infer<typeof KnownQuestion>;

/** What a service says of a job beyond the contract. Fields are null if it doesn't say. */
export type BeyondContract = {
  /**
   * Oldest first, and only the newest of a long job. After a create or a message, the last one is
   * the turn that it began.
   */
  turns: KnownTurn[] | null;
  /** Questions of unfinished turns. */
  questions: KnownQuestion[] | null;
  /** The job's newest pull request as it stands now. Null if there is none that is followed. */
  pullRequest?: KnownPullRequest | null;
};

/**
 * Reads a job's record: only what this project uses, so that a service may add, omit or reshape the
 * rest. What it leaves open is null, and so is an empty `prLink`. Without an `id`, or with an
 * unspecified status, it can't be parsed.
 */
export const ReadJob = z
  .object({
    id,
    status,
    source: z.object({ repository: repository.nullish(), ref: ref.nullish() }).nullish(),
    model: model.nullish(),
    prLink: prLink.nullish(),
  })
  .transform((job): KnownJob => {
    const { repository = null, ref = null } = job.source ?? {};
    return {
      id: job.id,
      status: job.status,
      repository,
      ref,
      model: job.model ?? null,
      prLink: job.prLink || null,
    };
  });

/** A client keeps it. */
const CURSOR_MAX_CHARS = 1000;
/** More than fit into the largest answer that is read. */
const MAX_READ_CHANGES = 10_000;

/** Reads an answer of the feed. Jobs that aren't recognizable are left out. */
export const ReadChanges = z.object({
  jobs: z.array(z.unknown()).pipe(readableItems(z.looseObject({ id: z.string() }), MAX_READ_CHANGES)),
  next: JobChanges.shape.next.min(1).max(CURSOR_MAX_CHARS),
});

/** Reads what an answer of the feed says besides. Never fails: unreadable parts are left out. */
export const ReadBesideChanges = lenient(z.object({ waitingReviews: WaitingReviews.nullable() }));

/** A job, and what the service says of it beyond the contract. */
export type ReportedJob = { job: KnownJob; report?: BeyondContract };

/** Reads {@link BeyondContract} from a job's record. Never fails: unreadable parts are left out. */
export const ReadBeyondContract = lenient(
  z.object({
    turns: z.array(KnownTurn).max(MAX_SHOWN_TURNS).nullable(),
    questions: z.array(KnownQuestion).max(MAX_QUESTIONS).nullable(),
    pullRequest: KnownPullRequest.nullable(),
  }),
) satisfies z.ZodType<BeyondContract>;
