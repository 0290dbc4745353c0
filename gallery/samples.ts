import type { ModalView } from "@slack/types";
import type { Message, MessageOf, Refusal } from "../src/app/rules/ports/notifier.ts";
import { PROMPT_MAX_CHARS } from "../src/app/rules/turn/request.ts";
import { alreadyDone, tooOld } from "../src/app/intake/press.ts";
import type { Rendered } from "../src/app/messages/blocks.ts";
import * as privateMessages from "../src/app/messages/private-messages.ts";
import { section } from "../src/app/messages/blocks.ts";
import * as shortAnswers from "../src/app/messages/short-answers.ts";
import { formSamples } from "./form-samples.ts";
import {
  changesSamples,
  homeSamples,
  listSamples,
  notClosedSamples,
  overviewSamples,
  rawChangeSamples,
} from "./list-samples.ts";
import { ANA, BEN, DOCS, LONG, NOON, makeUpTurn } from "./made-up.ts";
import { askedBeforeSamples, newsSamples } from "./news-samples.ts";
import { outcomeSamples } from "./outcome-samples.ts";
import { overdueSamples } from "./overdue-samples.ts";
import { longestQuestion, questionSamples, shortQuestion, unheardSamples } from "./question-samples.ts";
import { statusSamples } from "./status-samples.ts";

/**
 * A message or form of the app with its name. A message that doesn't come from `rules/` is already
 * rendered.
 */
export type Sample = { name: string; message: Message | Rendered | ModalView };

const manyNames = Array.from({ length: 100 }, (_, n) => `project-${n}-`.padEnd(40, "x"));

const manyChannels = Array.from({ length: 8 }, (_, n) => `C0DOCS${n}`);

/** The reasons for which a request isn't taken. */
const refusals: { [K in Refusal["kind"]]: [string, Extract<Refusal, { kind: K }>][] } = {
  "too-long": [
    ["too long", { kind: "too-long", length: 4_321, limit: PROMPT_MAX_CHARS }],
    [
      "too long, with what was typed",
      { kind: "too-long", length: 12_345, limit: PROMPT_MAX_CHARS, typed: LONG.repeat(3) },
    ],
  ],
  "unknown-project": [
    ["unknown project", { kind: "unknown-project", name: "handbok", known: ["docs", "handbook"] }],
    ["unknown project, where there is one", { kind: "unknown-project", name: "handbok", known: ["docs"] }],
    ["unknown project, longest", { kind: "unknown-project", name: LONG, known: manyNames }],
  ],
  guest: [["guest", { kind: "guest" }]],
  unchecked: [["not looked up yet", { kind: "unchecked" }]],
  uncheckable: [["not to be looked up", { kind: "uncheckable" }]],
  "other-channel": [
    ["in a channel that isn't let in", { kind: "other-channel", isDirect: false, channels: ["C0DOCS"] }],
    ["in direct messages", { kind: "other-channel", isDirect: true, channels: ["C0DOCS"] }],
    ["in one of many", { kind: "other-channel", isDirect: false, channels: manyChannels }],
    ["in direct messages, one of many", { kind: "other-channel", isDirect: true, channels: manyChannels }],
  ],
  "not-in-group": [["in no group that is let in", { kind: "not-in-group" }]],
  "access-unchecked": [["in a group that Slack doesn't list", { kind: "access-unchecked" }]],
  "ask-only": [["a change, where the app only answers", { kind: "ask-only" }]],
  "too-many": [
    ["too many of a person", { kind: "too-many", scope: "person", limit: 20, againAtMs: NOON }],
    ["too many of a channel", { kind: "too-many", scope: "channel", limit: 1_200, againAtMs: NOON }],
  ],
};

/** All kinds of messages, with all variants that read differently. A new kind needs an entry. */
const kinds: { [K in Message["kind"]]: [string, MessageOf<K>][] } = {
  status: statusSamples,
  outcome: outcomeSamples,
  news: newsSamples,
  question: questionSamples,
  overdue: overdueSamples,
  refused: Object.values(refusals)
    .flat()
    .map(([name, refusal]) => [name, { kind: "refused", refusal }]),
  "invite-me": [
    ["not in the channel", { kind: "invite-me", channelId: DOCS, error: "not_in_channel" }],
    ["no way to post", { kind: "invite-me", channelId: DOCS, error: "restricted_action" }],
  ],
  kept: [["kept", { kind: "kept" }]],
  help: [
    ["help", { kind: "help" }],
    ["files without words", { kind: "help", isOfFiles: true }],
  ],
  welcome: [["welcome", { kind: "welcome" }]],
  home: homeSamples,
  list: listSamples,
  changes: changesSamples,
  "raw-change": rawChangeSamples,
  "not-closed": notClosedSamples,
  overview: overviewSamples,
  ask: [["is it for the agent?", { kind: "ask", replyId: "mention:3" }]],
  "ask-project": [["which project", { kind: "ask-project", replyId: "mention:T0:C0:1.1" }]],
  "ask-which": [
    ["is it an answer?", { kind: "ask-which", replyId: "mention:3", question: shortQuestion }],
    ["is it an answer, longest", { kind: "ask-which", replyId: "mention:3", question: longestQuestion }],
  ],
  "asked-before": [
    [
      "asked before",
      {
        kind: "asked-before",
        replyId: "mention:3",
        turn: makeUpTurn({ name: "accepted", waitingSince: null }),
        isOwn: false,
        mayAdd: false,
        agoMs: 180_000,
      },
    ],
    ...askedBeforeSamples,
  ],
  unheard: unheardSamples,
  "not-allowed": [["not allowed", { kind: "not-allowed", requesterId: ANA }]],
  "gave-up": ["open", "deliver", "question", "answer", "watch"].map((taskType) => [
    `gave up: ${taskType}`,
    { kind: "gave-up", taskId: `${taskType}:command:1`, taskType, channelId: DOCS },
  ]),
};

type PrivateMessage = Extract<keyof typeof privateMessages, `${string}Message`>;
/** The messages that `render` makes of the kinds above. */
type ByKind =
  | "askMessage"
  | "askProjectMessage"
  | "askWhichMessage"
  | "askedBeforeMessage"
  | "gaveUpMessage"
  | "inviteMeMessage"
  | "keptMessage"
  | "notAllowedMessage"
  | "ownAnswerMessage"
  | "unheardMessage"
  | "welcomeMessage";

/** Messages to one person that are sent at once, before anything is stored. */
const atOnce: Record<Exclude<PrivateMessage, ByKind>, Rendered> = {
  notKeptMessage: privateMessages.notKeptMessage,
  maybeKeptMessage: privateMessages.maybeKeptMessage,
  onOneMachineMessage: privateMessages.onOneMachineMessage,
  notTakenMessage: privateMessages.notTakenMessage(`<@${BEN}>`),
  notListedMessage: privateMessages.notListedMessage,
  formNotOpenedMessage: privateMessages.formNotOpenedMessage,
};

/** Answers to a person who pressed a button or sent a form. Some stand under a form's field. */
const said: Record<string, string> = {
  ...shortAnswers,
  DONE_BEFORE: alreadyDone(ANA, ANA),
  DONE_BY_ANOTHER: alreadyDone(BEN, ANA),
  ANSWERED_BEFORE: alreadyDone(ANA, ANA, "answered"),
  ANSWERED_BY_ANOTHER: alreadyDone(BEN, ANA, "answered"),
  TOO_OLD: tooOld({ retentionMs: 90 * 86_400_000 }),
};

/** All samples in groups: one for each kind of message, and three for messages without a kind. */
export const samples: Readonly<Record<string, readonly Sample[]>> = {
  ...Object.fromEntries(
    Object.entries(kinds).map(([kind, all]) => [kind, all.map(([name, message]) => ({ name, message }))]),
  ),
  "at once": Object.entries(atOnce).map(([name, message]) => ({
    name: name.replace(/Message$/, "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    message,
  })),
  forms: formSamples.map(([name, message]) => ({ name, message })),
  "after a press or a form": Object.entries(said).map(([name, text]) => ({
    name: name.replaceAll("_", " ").toLowerCase(),
    message: { text, blocks: [section(text)] },
  })),
};
