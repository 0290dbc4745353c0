import type { ReaderName } from "./readers.ts";

/** What is read, at the beginning of a sentence for people, and what to do if it is too much. */
type Subject = { what: string; advice: string };

const SMALLER = "Ask for a smaller change.";
const SOURCES = { what: "The sources that the agent named", advice: SMALLER };
const FINDINGS = { what: "The lines that a check wrote", advice: SMALLER };
const CHANGE = { what: "The words of the change", advice: SMALLER };
const PAGES = { what: "The changed pages", advice: SMALLER };
const WORDS = { what: "The words for the pull request", advice: SMALLER };

/** What each reader reads. */
export const SUBJECTS: Record<ReaderName, Subject> = {
  keepBytes: PAGES,
  findMoved: PAGES,
  parseClaims: SOURCES,
  claimsInChange: SOURCES,
  checkSources: SOURCES,
  addedSwitches: CHANGE,
  judgeRuns: FINDINGS,
  readHygiene: PAGES,
  lastWords: FINDINGS,
  showRun: FINDINGS,
  messagesOfOthers: CHANGE,
  findCopies: CHANGE,
  forgetKnown: CHANGE,
  showCopies: CHANGE,
  commitMessageOf: WORDS,
  sourcesText: SOURCES,
  newPullRequestText: WORDS,
  changedPullRequestText: WORDS,
  readLongMessage: { what: "A message that the agent sent", advice: SMALLER },
  reviewMaterial: { what: "The reviews", advice: "Resolve some of the comments." },
  othersChanges: { what: "The changes of open pull requests", advice: "Ask again when they are merged." },
  answersOf: { what: "What the agent says about the comments", advice: SMALLER },
  replyTexts: WORDS,
  touchSameLines: CHANGE,
  hasNewWords: { what: "The page on the site", advice: "Look at the page itself." },
  shownDiff: { what: "The changed lines", advice: "Look at the branch itself." },
};
