import type { ModalView } from "@slack/types";
import type { Draft } from "../src/app/rules/records.ts";
import type { QuotedMessage, Segment, SharedFile, ThreadMessage } from "../src/app/rules/turn/request.ts";
import { answerModal } from "../src/app/intake/answers.ts";
import { waitingReviewsText } from "../src/shared/contract/waiting-reviews.ts";
import { askedBefore } from "../src/app/intake/asked-before.ts";
import { requestForm } from "../src/app/intake/request-form.ts";
import { ANA, BEN, DOCS, LONG, NOON, makeUpTurn } from "./made-up.ts";
import { longestQuestion, shortQuestion } from "./question-samples.ts";

const ts = (minute: number) => `${NOON / 1000 + 60 * minute}.000100`;
const text = (words: string): Segment[] => [{ kind: "text", text: words }];
const file = (name: string, mediaType: string): SharedFile => ({
  id: name,
  name,
  mediaType,
  size: 1000,
  url: "https://files.example",
});

const command: Draft = {
  version: 1,
  from: "command",
  teamId: "T0TIDEPOOL",
  channelId: DOCS,
  threadTs: null,
  quoted: null,
  responseUrl: null,
};
const quoted: QuotedMessage = {
  segments: text("The quickstart says `npm i tidepool`, but the package has another name now."),
  authorId: BEN,
  authorName: null,
  channelId: DOCS,
  ts: ts(0),
  threadTs: null,
};
const picked: Draft = { ...command, from: "shortcut", threadTs: quoted.ts, quoted, quotesWordsOnly: true };
const reply: ThreadMessage = {
  segments: text("The FAQ has the same command."),
  authorId: ANA,
  authorName: null,
  ts: ts(1),
  files: [file("screenshot.png", "image/png"), file("video.mp4", "video/mp4")],
};
const thread: Draft = {
  ...picked,
  context: { messages: [reply], leftOut: 3, upTo: ts(1), ofGuests: 1, withheld: [ts(2)] },
};
const longest: Draft = {
  ...thread,
  quoted: { ...quoted, segments: text(LONG), authorId: null, authorName: LONG },
  context: {
    messages: Array.from({ length: 19 }, (_, n) => ({ ...reply, segments: text(LONG), ts: ts(n + 1) })),
    leftOut: 0,
    hasEarlier: true,
    upTo: ts(19),
    isCutShort: true,
  },
  quotesWordsOnly: false,
};

/** The request form of a draft, in a workspace with two projects. */
function form(draft: Draft, state?: Parameters<typeof requestForm>[4]): ModalView {
  return requestForm("draft-1", draft, ["docs", "handbook"], "docs", state);
}

const WAITING = `docs: ${waitingReviewsText(
  { count: 12, since: NOON - 9 * 86_400_000, reviewers: ["maria", "tom"] },
  NOON,
)}`;

const running = makeUpTurn({ name: "watching", since: NOON, troubleSince: null });
const clock = { now: () => NOON + 4 * 60_000, monotonicMs: () => 0, wallMs: () => 0, wakeAt: () => () => {} };

/** Samples of the forms that the app opens. */
export const formSamples: [string, ModalView][] = [
  ["of the command", form(command)],
  ["of the command, one project", requestForm("draft-1", command, ["docs"], "docs")],
  ["of the command, in a channel with a project", form(command, { because: "channel" })],
  ["of the command, with the project chosen last", form(command, { because: "person" })],
  ["of the command, with the first project", form(command, { because: "first" })],
  ["of the command, without a project", requestForm("draft-1", command, ["docs", "handbook"], null)],
  ["of the command, where the app only answers", form(command, { isAskOnly: true })],
  ["for one message", form(picked)],
  ["for one message, where the app only answers", form(picked, { isAskOnly: true })],
  ["where many pull requests wait", form(picked, { waiting: WAITING })],
  ["for one message, with a service that may publish it", form({ ...picked, quotesWordsOnly: false })],
  ["for a thread that is being read", form({ ...picked, isThreadUnread: true })],
  ["for a thread", form(thread)],
  ["for a thread that can't be read", form({ ...picked, context: { messages: [], leftOut: 0 } })],
  [
    "for what was asked before",
    form(picked, askedBefore({ clock, httpOrigins: [] }, { turn: running, mayAdd: false }, BEN)),
  ],
  ["for the longest thread", form(longest)],
  ["for an answer", answerModal(shortQuestion, "question-1")],
  ["for an answer to the longest question", answerModal(longestQuestion, "question-1")],
];
