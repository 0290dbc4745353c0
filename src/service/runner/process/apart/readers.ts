import type { Redact } from "../../../base/redaction.ts";
import { readLongMessage } from "../../agents/long-message.ts";
import { findMoved } from "../../workspace/bytes/find-moved.ts";
import { keepBytes } from "../../workspace/bytes/keep-bytes.ts";
import { claimsInChange } from "../../turn/claims/claims-in-change.ts";
import { checkSources } from "../../turn/claims/check-sources.ts";
import { parseClaims } from "../../turn/claims/parse-claims.ts";
import { findCopies, forgetKnown, showCopies } from "../../publish/copied-words.ts";
import { commitMessageOf } from "../../publish/commit-message.ts";
import { touchSameLines } from "../../publish/changed-lines.ts";
import { hasNewWords } from "../../publish/new-words.ts";
import { shownDiff } from "../../publish/shown-diff.ts";
import { messagesOfOthers } from "../../publish/slack-words.ts";
import { sourcesText } from "../../publish/sources-text.ts";
import { changedPullRequestText, newPullRequestText } from "../../publish/text-readers.ts";
import { answersOf } from "../../turn/reviews/answers-of.ts";
import { othersChanges } from "../../turn/reviews/others-changes.ts";
import { replyTexts } from "../../turn/reviews/reply-texts.ts";
import { reviewMaterial } from "../../turn/reviews/review-material.ts";
import { readHygiene } from "../../hygiene/read-hygiene.ts";
import { addedSwitches } from "../../turn/checks/added-switches.ts";
import { judgeRuns, lastWords, showRun } from "../../turn/checks/judge-runs.ts";

/**
 * The functions that read what an agent, a repository or a code host wrote, and that take a time or
 * memory that its author decides. They are called in another process, by `Apart`, so what they take
 * and return must be plain data: no functions and no classes, but maps, sets and buffers may be in
 * it. Nothing else imports the files that they are in, and `test/apart.test.ts` holds that.
 */
export const APART_READERS = {
  keepBytes,
  findMoved,
  parseClaims,
  claimsInChange,
  checkSources,
  addedSwitches,
  judgeRuns,
  readHygiene,
  lastWords,
  showRun,
  messagesOfOthers,
  findCopies,
  forgetKnown,
  showCopies,
  commitMessageOf,
  sourcesText,
  newPullRequestText,
  changedPullRequestText,
  shownDiff,
  touchSameLines,
  hasNewWords,
  readLongMessage,
  reviewMaterial,
  othersChanges,
  answersOf,
  replyTexts,
} satisfies Record<string, (input: never, redact: Redact) => unknown>;

type Readers = typeof APART_READERS;

export type ReaderName = keyof Readers;
export type InputOf<Name extends ReaderName> = Parameters<Readers[Name]>[0];
export type ResultOf<Name extends ReaderName> = ReturnType<Readers[Name]>;
