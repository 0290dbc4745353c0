import { z } from "zod";
import { storedObject } from "./stored-object.ts";

/** A review, as the job service reports it (untrusted, bounded). */
export const Review = storedObject({
  /** Tells reviews apart. The same for the same review. */
  id: z.string(),
  author: z.string(),
  /** What the author wrote. Empty if they only chose a state. */
  words: z.string(),
  state: z.enum(["approved", "changes-requested", "commented"]),
  /** Epoch milliseconds. Null if the service didn't say. */
  at: z.number().nullable(),
});
export type Review = z.infer<typeof Review>;

/**
 * A job's pull request as it stands at the code host now, for a service that announces
 * `pull-request` (untrusted text, bounded).
 */
export const FollowedPullRequest = storedObject({
  /** Null if the service didn't say: then it is the job's `prLink`. */
  url: z.string().nullable(),
  title: z.string().nullable(),
  state: z.enum(["open", "closed", "merged"]),
  isDraft: z.boolean(),
  /** What the newest review of each reviewer comes to. */
  review: z.enum(["none", "approved", "changes-requested"]),
  /**
   * `failed` names the checks that failed and didn't fail before the change. `unknown` means that
   * the code host doesn't let the service read them.
   */
  checks: storedObject({
    state: z.enum(["pending", "failed", "passed", "unknown"]),
    failed: z.array(z.string()),
  }),
  /** The newest, oldest first. */
  reviews: z.array(Review),
  /** Logins and teams whose review was asked for and isn't there yet. */
  waitingFor: z.array(z.string()),
  /** Null while the code host hasn't found out. */
  mergeable: z.boolean().nullable(),
  /** Why it can't be merged, if the code host says so. */
  blockedBy: z.enum(["conflicts", "checks", "reviews", "draft", "behind", "other"]).nullable(),
  /** The commit that all this is about. */
  headSha: z.string().nullable(),
  /** False if the service can't see it anymore; the rest is what it saw last. */
  isVisible: z.boolean(),
  /** Epoch milliseconds. Null if the service didn't say. */
  openedAt: z.number().nullable(),
});
export type FollowedPullRequest = z.infer<typeof FollowedPullRequest>;
