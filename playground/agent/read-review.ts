import { type BrokenAnchor, readBrokenAnchors } from "../anchors.ts";

/** What people and checks say about a pull request, as far as the agent reads it. */
export type QuotedReview = {
  /** Where the service wants to read what was done about each comment. Null if there is none. */
  answersFile: string | null;
  /** By their numbers, from 1. */
  comments: { path: string; words: string }[];
  /** What reviews say besides. */
  opinions: string[];
  brokenAnchors: BrokenAnchor[];
};

const BEGINS = "What people and checks say about this job's pull request follows.";
const ANSWERS_FILE = /in the file `([^`\n]+)`/;
const PARTS = /^(?=Comment \d+, about |A review that asks for changes\. |The check ")/m;
const ABOUT = /^Comment \d+, about ("(?:[^"\\\n]|\\.)*"), /;

/**
 * Reads what the service quotes of a pull request's reviews and checks. Null if it quotes nothing.
 */
export function readReview(context: string): QuotedReview | null {
  const start = context.lastIndexOf(BEGINS);
  if (start < 0) return null;
  const text = context.slice(start);
  const review: QuotedReview = {
    answersFile: ANSWERS_FILE.exec(text)?.[1] ?? null,
    comments: [],
    opinions: [],
    brokenAnchors: [],
  };
  for (const part of text.split(PARTS).slice(1)) {
    const path = ABOUT.exec(part)?.[1];
    if (path !== undefined) review.comments.push({ path: String(JSON.parse(path)), words: saidIn(part) });
    else if (part.startsWith("The check ")) review.brokenAnchors.push(...readBrokenAnchors(part));
    else review.opinions.push(saidIn(part));
  }
  return review;
}

/** What people wrote. The quoted lines before that are the page's own. */
function saidIn(part: string): string {
  const [, ...said] = part.split(/^.* wrote:$/m);
  const lines = said.join("\n").split("\n");
  return lines.flatMap((line) => (line.startsWith("> ") ? line.slice(2) : [])).join("\n");
}
