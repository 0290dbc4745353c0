import { z } from "zod";
import { storedObject } from "../../../shared/contract/reading.ts";

const common = {
  /** The same for the same news. It names the slot of its post. */
  id: z.string(),
  /** When the app heard of it, epoch milliseconds. */
  at: z.number(),
  /** True once it is posted or given up. What was only for the post is then gone. */
  isTold: z.boolean().optional(),
};

/** Something that happened to a pull request and that its thread is told, once. */
export const PullRequestNews = z.discriminatedUnion("kind", [
  /** Reviews that came within {@link GROUP_MS} are told together. `isClosed`: no more join them. */
  storedObject({
    ...common,
    kind: z.literal("changes-requested"),
    reviews: z.array(
      storedObject({
        id: z.string(),
        author: z.string(),
        /** True if a program wrote it. */
        isBot: z.boolean().optional(),
        words: z.string(),
        /** Comments on lines, each in a line of its own. Absent if there are none. */
        comments: z.array(z.string()).optional(),
      }),
    ),
    isClosed: z.boolean().optional(),
  }),
  /**
   * It conflicts if there is `conflictsWith`, the base branch, which is empty if nobody says which.
   * See {@link newsKindOf}.
   */
  storedObject({
    ...common,
    kind: z.literal("checks-failed"),
    names: z.array(z.string()),
    headSha: z.string().nullable(),
    /** The first lines that failed checks say. Absent if none of them says any. */
    reasons: z
      .array(storedObject({ name: z.string(), words: z.string(), url: z.string().nullable() }))
      .optional(),
    conflictsWith: z.string().optional(),
  }),
  storedObject({ ...common, kind: z.literal("merged") }),
  storedObject({ ...common, kind: z.literal("closed") }),
  storedObject({ ...common, kind: z.literal("waiting"), waitingFor: z.array(z.string()) }),
  storedObject({ ...common, kind: z.literal("unseen") }),
]);
export type PullRequestNews = z.infer<typeof PullRequestNews>;

/**
 * A turn that nobody asked for. Its thread hears about it when it has ended (untrusted, bounded).
 * It isn't among the {@link PullRequestNews}, because an older version couldn't read them then.
 */
export const UnaskedNews = storedObject({
  ...common,
  kind: z.literal("unasked"),
  /** The turn's number. */
  number: z.number().int(),
  act: z.enum(["address", "update"]),
  ended: z.enum(["changed", "unchanged", "failed"]),
  /** Whose reviews asked for changes then. Nobody's if there are too many. */
  reviewers: z.array(z.string()),
  /** The base branch. Empty if nobody says which. */
  base: z.string(),
  /** The agent's words, or why it changed nothing. Empty if there are none. */
  words: z.string(),
});
export type UnaskedNews = z.infer<typeof UnaskedNews>;

/** Everything that a thread hears about its pull request. */
export type ThreadNews = PullRequestNews | UnaskedNews;

/** Reviews within this time are one post, milliseconds. */
export const GROUP_MS = 60_000;

/** The kind of a piece of news, including one that an older version's `kind` can't name. */
export function newsKindOf(news: ThreadNews): ThreadNews["kind"] | "conflicts" {
  return news.kind === "checks-failed" && news.conflictsWith !== undefined ? "conflicts" : news.kind;
}

/** True while more reviews may join this news. */
export function isGrouping(news: ThreadNews, now: number): boolean {
  if (news.kind !== "changes-requested" || news.isClosed === true || news.isTold === true) return false;
  // The clock may have been set back since.
  return now < news.at + GROUP_MS && now >= news.at;
}

/** A piece of news that no more reviews join. */
export function closedNews(news: PullRequestNews): PullRequestNews {
  return news.kind === "changes-requested" && news.isClosed !== true ? { ...news, isClosed: true } : news;
}

/** A piece of news that is told, without what was only for its post. */
export function toldNews(news: PullRequestNews): PullRequestNews {
  if (news.kind === "checks-failed") {
    const { reasons: _, ...kept } = news;
    return { ...kept, isTold: true };
  }
  if (news.kind !== "changes-requested") return { ...news, isTold: true };
  const reviews = news.reviews.map((review) => ({ ...review, author: "", words: "", comments: undefined }));
  return { ...news, reviews, isClosed: true, isTold: true };
}
