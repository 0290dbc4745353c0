import { z } from "zod";
import { counted, cut } from "../text/text.ts";
import { MAX_NAMES } from "./pull-request.ts";
import { Count, SHOWN_CHARS, Time } from "./reading.ts";

/** More pull requests that wait for a review than their project wants (untrusted text, bounded). */
export const WaitingReviews = z.object({
  count: Count.describe("How many wait."),
  since: Time.describe("When the oldest of them was opened."),
  reviewers: z
    .array(z.string().max(SHOWN_CHARS.path))
    .max(MAX_NAMES)
    .describe("Whom they wait for, those that most wait for first."),
});
export type WaitingReviews = z.infer<typeof WaitingReviews>;

const DAY_MS = 86_400_000;
const NAMES_SHOWN = 5;
const NAME_MAX_CHARS = 50;

/**
 * How many pull requests wait, for how long and for whom, in one sentence. The names are others'
 * text. `other` says that they are told of beside one more.
 */
export function waitingReviewsText(
  { count, since, reviewers }: WaitingReviews,
  now: number,
  other: "" | "other " = "",
): string {
  const days = Math.max(0, Math.floor((now - since) / DAY_MS));
  const age = days === 0 ? "since today" : `for ${counted(days, "day")}`;
  const wait = count === 1 ? `1 ${other}pull request waits` : `${count} ${other}pull requests wait`;
  return `${wait} for a review${count === 1 ? "" : ", the oldest"} ${age}${namesOf(reviewers)}.`;
}

function namesOf(reviewers: readonly string[]): string {
  if (reviewers.length === 0) return "";
  const shown = reviewers.slice(0, NAMES_SHOWN).map((name) => cut(name, NAME_MAX_CHARS));
  const more = reviewers.length - shown.length;
  return ` (${shown.join(", ")}${more === 0 ? "" : ` and ${more} more`})`;
}
