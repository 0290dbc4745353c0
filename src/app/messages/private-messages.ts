import type { Button } from "@slack/types";
import {
  counted,
  cut,
  formatAgo,
  grouped,
  listed,
  upToMinute,
  utcTimeOfDay,
} from "../../shared/text/text.ts";
import type { MessageOf, OwnAnswer, Refusal } from "../rules/ports/notifier.ts";
import { questionSlot } from "../rules/turn/delivery.ts";
import { isUnheard, type AnswerResult } from "../rules/thread/question.ts";
import { stateOf } from "../rules/words/pull-request-text.ts";
import type { Turn } from "../rules/turn/turn.ts";
import {
  ACTIONS,
  addValue,
  chooseProjectId,
  projectValue,
  replyValue,
  suggestionId,
  suggestionValue,
} from "./actions.ts";
import { builtPermalink, canInvite, placeName, pullRequestLink } from "./links.ts";
import {
  actions,
  context,
  labeled,
  NAMES_MAX,
  NAME_MAX,
  paragraph,
  plainSection,
  quoteText,
  type Rendered,
  section,
  STATE_MAX,
  turnButton,
  type View,
} from "./blocks.ts";
import { cutEscaped, escapeMrkdwn, timeOfDay } from "./mrkdwn.ts";

/** Example prompts for a newcomer. They are sent word for word. */
const SUGGESTED_PROMPTS = [
  "Fix the typos in the docs",
  "Fix the broken links in the docs",
  "Update old commands in the docs",
] as const;

/** The answer to a word such as `help`. */
export function ownAnswerMessage(
  answer: OwnAnswer,
  view: Pick<View, "projects" | "asksForProject">,
): Rendered {
  switch (answer.kind) {
    case "help":
      return answer.isOfFiles === true ? noWordsMessage : helpMessage(view);
  }
}

function helpMessage({ projects, asksForProject }: Pick<View, "projects" | "asksForProject">): Rendered {
  const names = projects.map((name) => `\`${cutEscaped(name, NAME_MAX)}\``);
  const lines = [
    "*Ask for a docs change and get a pull request:*",
    "• `/docs-agent fix the install command`; `/docs-agent` alone opens a form",
    "• *Fix these docs* in a message's menu",
    "• Mention me in a channel or thread, or message me directly. In a request's thread that's a " +
      "follow-up; `new: …` makes it a separate request",
    "• `/docs-agent list` shows your requests, `list channel` this channel's, `list open` pull " +
      "requests that aren't merged yet, `status` how many are running",
    ...(projects.length > 1
      ? [
          `• \`project=${cutEscaped(projects[1] ?? "", NAME_MAX)} …\`, first or last, picks a project: ` +
            `${listOf(names)}; ${asksForProject ? ASKED : "the first is the default"}`,
        ]
      : []),
  ];
  return { text: "How to ask for a docs change", blocks: [section(lines.join("\n"))] };
}

const ASKED = "without it, I use the channel's, then the one you chose last";

/** The answer to files without words. */
const noWordsMessage = paragraph(
  "I see a file but no request. Tell me what should change, in a reply to it.",
);

/** What a newcomer can do in direct messages, with prompts to start with. */
export function welcomeMessage(): Rendered {
  const text = "Hi! Tell me what's wrong in the docs, and the agent prepares a pull request.";
  const prompts = SUGGESTED_PROMPTS.map((prompt, n) =>
    labeled(suggestionId(n), prompt, suggestionValue.write({ prompt })),
  );
  return {
    text,
    blocks: [
      section(`${text} Write it here in your own words, or try one of these:`),
      ...actions(prompts),
      context(["Type “help” to see everything you can do."]),
    ],
  };
}

/** Asks whether a reply in a thread is for the agent. */
export function askMessage({ replyId }: MessageOf<"ask">): Rendered {
  const value = replyValue.write({ replyId });
  const send: Button = { ...labeled(ACTIONS.sendReply, "Send it", value), style: "primary" };
  return paragraph(
    "Is this for the agent?",
    ...actions([send, labeled(ACTIONS.ignoreReply, "Ignore", value)]),
  );
}

/** Asks whether a direct message answers a question that is open there. */
export function askWhichMessage({ replyId, question }: MessageOf<"ask-which">): Rendered {
  const value = replyValue.write({ replyId });
  const buttons = [
    labeled(ACTIONS.replyIsAnswer, "Answer", value),
    labeled(ACTIONS.sendReply, "New request", value),
  ];
  const asked = quoteText(question.text || "(no text)");
  return paragraph("Is this your answer, or a new request?", asked, ...actions(buttons));
}

/** Slack's limits for the text of a button and the buttons in a row. */
const BUTTON_MAX = 75;
const ROW_MAX = 25;

/** Asks which project a request is for. */
export function askProjectMessage(
  { replyId }: MessageOf<"ask-project">,
  { projects }: Pick<View, "projects">,
): Rendered {
  const buttons = projects.map((project, n) =>
    labeled(chooseProjectId(n), cut(project, BUTTON_MAX), projectValue.write({ replyId, project })),
  );
  const rows = Array.from({ length: Math.ceil(buttons.length / ROW_MAX) }, (_, n) =>
    actions(buttons.slice(n * ROW_MAX, (n + 1) * ROW_MAX)),
  );
  return paragraph(
    "Which project is this for?",
    ...rows.flat(),
    context(["I saved your request. The next time, I'll use the project that you choose now."]),
  );
}

/** Somebody asked for the same, and that turn runs, or its pull request is open. */
export function askedBeforeMessage(
  { replyId, turn, isOwn, mayAdd, agoMs }: MessageOf<"asked-before">,
  { httpOrigins }: View,
): Rendered {
  const who = isOwn ? null : `<@${turn.request.userId}>`;
  const text = askedBeforeText(turn, who, agoMs, { httpOrigins });
  const startAnother = labeled(ACTIONS.sendReply, "Start another", replyValue.write({ replyId }));
  const add = mayAdd ? [addToIt(turn, replyId)] : [];
  return paragraph(text, ...actions([...add, followIt(turn), startAnother]));
}

/** `who` asked, in mrkdwn. Null stands for the reader. */
export function askedBeforeText(
  { stage, pullRequest }: Turn,
  who: string | null,
  agoMs: number,
  { httpOrigins }: { httpOrigins: readonly string[] },
): string {
  const ago = formatAgo(agoMs);
  if (stage.name !== "ended" || pullRequest === undefined) return `${who ?? "You"} asked for this ${ago}.`;
  const pr = pullRequestLink(pullRequest.url, httpOrigins);
  const link = pr === null ? "" : `<${escapeMrkdwn(pr.url)}|${cutEscaped(pr.label, NAME_MAX)}>, `;
  const state = cutEscaped(stateOf(pullRequest), STATE_MAX);
  return `There's already a pull request for this: ${link}${state}, requested by ${who ?? "you"} ${ago}.`;
}

/** A button that adds a request to a turn's pull request. In a form, the form has the request. */
export function addToIt({ id }: Turn, replyId?: string): Button {
  return labeled(
    ACTIONS.addToIt,
    "Add to it",
    addValue.write({ turnId: id, ...(replyId === undefined ? {} : { replyId }) }),
  );
}

/** A button to be mentioned in a turn's result, or in the news of its pull request. */
export function followIt(turn: Turn): Button {
  return turnButton(ACTIONS.followIt, "Follow it", turn);
}

/** Only the requester may do that, because of the operator's setting. */
export function notAllowedMessage({ requesterId }: MessageOf<"not-allowed">, { botName }: View): Rendered {
  return paragraph(
    `Only <@${requesterId}> can do that. For your own request, use ` +
      `\`@${cutEscaped(botName, NAME_MAX)} new: …\`.`,
  );
}

/** Why a request was refused, and what to do. */
export function refusalMessage(refusal: Refusal, { contact }: Pick<View, "contact">): Rendered {
  if (refusal.kind === "too-many") return paragraph(tooManyText(refusal, timeOfDay));
  if (refusal.kind === "uncheckable") return paragraph(uncheckableText(contact));
  if (refusal.kind === "other-channel") return paragraph(otherChannelText(refusal, contact));
  if (refusal.kind === "not-in-group") return paragraph(notInGroupText(contact));
  if (refusal.kind === "access-unchecked") return paragraph(accessUncheckedText(contact));
  const text = refusalText(refusal);
  const typed = refusal.kind === "too-long" ? (refusal.typed ?? "") : "";
  return {
    text: cutEscaped(text, 3000),
    // The person can't see their words anywhere else.
    blocks: [plainSection(text), ...(typed === "" ? [] : [quoteText(cut(typed, TYPED_MAX))])],
  };
}

/** The refusal as plain text, for a field of a form, where a contact can't be mentioned. */
export function refusalText(refusal: Refusal): string {
  switch (refusal.kind) {
    case "too-long": {
      const { length, limit } = refusal;
      return `That's ${grouped(length)} characters; the limit is ${grouped(limit)}. Shorten it and resend.`;
    }
    case "unknown-project": {
      const name = cut(refusal.name, NAME_MAX);
      if (refusal.known.length === 1) return `There's only one project. Leave out “project=${name}”.`;
      return (
        `There's no project “${name}”. Choose from: ` +
        `${listOf(refusal.known.map((known) => cut(known, NAME_MAX)))}.`
      );
    }
    case "too-many":
      return tooManyText(refusal, utcTimeOfDay);
    case "guest":
      return "Sorry, only members of this workspace can use Docs Agent. Your message stays in Slack.";
    case "unchecked":
      return "I can't check right now whether you're a member of this workspace. Try again in a minute.";
    case "uncheckable":
      return uncheckableText(ADMIN);
    case "other-channel":
      return `Sorry, I don't take requests in this channel. To have it added, contact ${ADMIN}.`;
    case "not-in-group":
      return notInGroupText(ADMIN);
    case "access-unchecked":
      return accessUncheckedText(ADMIN);
  }
}

/** Where a text can't mention a contact. */
const ADMIN = "your Docs Agent admin";

/** The most channels that a refusal names. */
const CHANNELS_MAX = 5;

function otherChannelText(
  { isDirect, channels }: Extract<Refusal, { kind: "other-channel" }>,
  contact: string,
): string {
  const named = listed(
    channels.map((id) => `<#${id}>`),
    CHANNELS_MAX,
  );
  if (channels.length === 1) {
    return isDirect
      ? `Sorry, I take direct messages only from people in ${named}. Join it, or contact ${contact}.`
      : `Sorry, I only take requests in ${named}. To have this channel added, contact ${contact}.`;
  }
  return isDirect
    ? `Sorry, I take direct messages only from people in these channels: ${named}. Join one of them, ` +
        `or contact ${contact}.`
    : `Sorry, I only take requests in these channels: ${named}. To have this one added, contact ${contact}.`;
}

function notInGroupText(contact: string): string {
  return (
    "Sorry, you aren't in a group that may use Docs Agent. Your message stays in Slack. If you need it, " +
    `contact ${contact}.`
  );
}

function accessUncheckedText(contact: string): string {
  return (
    "I couldn't check whether you may use Docs Agent here. Try again in a minute. If it keeps happening, " +
    `contact ${contact}.`
  );
}

function uncheckableText(contact: string): string {
  return (
    "I can't check who is a member of this workspace, so I can't take requests. Your message " +
    `stays in Slack. Contact ${contact}.`
  );
}

const TASK_ID_MAX = 200;
/** The most characters that fit into a message beside our own words. */
const TYPED_MAX = 10_000;

function tooManyText(
  { scope, limit, againAtMs }: Extract<Refusal, { kind: "too-many" }>,
  timeOf: (epochMs: number) => string,
): string {
  const who = scope === "person" ? "You've" : "This channel has";
  const again = timeOf(upToMinute(againAtMs));
  return `${who} reached the limit of ${counted(limit, "request")} an hour. Try again at ${again}.`;
}

/** The request is saved, but nothing of it is visible yet. */
export const keptMessage = paragraph(
  "Got it. Your request is saved, but Slack won't let me post yet. No need to resend.",
);

/** The app couldn't save the request, so nothing was started. */
export const notKeptMessage = paragraph(
  "I couldn't save that, so nothing was started. Try again in a minute.",
);

/** The app can't tell whether it saved the request. */
export const maybeKeptMessage = paragraph(
  "I can't tell whether that was saved. If nothing about it shows up within a minute, ask again.",
);

export const notListedMessage = paragraph("I couldn't look that up. Try again in a minute.");

export const formNotOpenedMessage = paragraph(
  "I couldn't open the form. Try again, or type your request after `/docs-agent`.",
);

/** How to invite the app to a channel that it can't post in. */
export function inviteMeMessage({ channelId, error }: MessageOf<"invite-me">, { botName }: View): Rendered {
  return paragraph(
    canInvite(channelId, error)
      ? `I'm not in this channel, so I'll message you directly. To get replies here, type \`/invite ` +
          `@${cutEscaped(botName, NAME_MAX)}\`.`
      : "I can't post here, so I'll message you directly.",
  );
}

/** The agent didn't get a person's answer, or may not have. Quotes it, and says what to do. */
export function unheardMessage(
  { turn, question: { number, answer } }: MessageOf<"unheard">,
  { botName, teamUrl }: View,
): Rendered {
  const { channelId, threadTs, slots } = turn.delivery;
  const { result = "unsure", words = "" } = answer ?? {};
  const isCertain = isUnheard(result);
  const why = isCertain ? (turn.stop === undefined ? UNHEARD[result] : STOPPED) : UNHEARD.unsure;
  const text = `⚠️ ${why(placeName(channelId))}`;
  const purpose = isCertain ? "To send it as a follow-up" : "If nothing comes of it";
  const next = `${purpose}, reply in the thread with \`@${cutEscaped(botName, NAME_MAX)}\`.`;
  const ts = slots[questionSlot(number)]?.ts ?? null;
  const url = ts === null ? null : builtPermalink(teamUrl, { channelId, ts, threadTs });
  const view = url === null ? [] : [{ ...labeled(ACTIONS.viewMessage, "View message"), url }];
  const said = quoteText(cut(words, TYPED_MAX) || "(no text)");
  return paragraph(text, said, section(next), ...actions(view));
}

const STOPPED = (where: string) => `Your answer in ${where} came too late: the request was stopped.`;

/** What became of an answer that the agent didn't get, or may not have. */
const UNHEARD: Record<Exclude<AnswerResult, "taken">, (where: string) => string> = {
  late: (where) => `Your answer in ${where} came too late: the agent had already moved on.`,
  elsewhere: (where) =>
    `Your answer in ${where} came too late: the agent already had one from outside Slack.`,
  refused: (where) => `The agent didn't accept your answer in ${where}.`,
  unsent: (where) => `I couldn't reach the agent, so it didn't get your answer in ${where}.`,
  unsure: (where) => `I can't tell whether the agent got your answer in ${where}.`,
};

/** The app gave up on part of a request. */
export function gaveUpMessage(
  { taskType, taskId, channelId }: MessageOf<"gave-up">,
  { contact }: View,
): Rendered {
  const text = `⚠️ ${(GAVE_UP[taskType] ?? LOST_TRACK)(placeName(channelId))}`;
  const id = cutEscaped(taskId, TASK_ID_MAX);
  return paragraph(text, section(`For ${contact}: see task \`${id}\` in the log.`));
}

/** What a person has to know about a task that was given up, by its type. */
const GAVE_UP: Readonly<Record<string, (where: string) => string>> = {
  open: (where) => `Your request in ${where} couldn't be started. Ask again.`,
  deliver: (where) =>
    `Your request in ${where} is done, but I couldn't post the result. Check for a new pull request.`,
  question: (where) =>
    `The agent has a question about your request in ${where}, but I couldn't post it. Reply ` +
    "there with more detail, or stop the request.",
  answer: (where) =>
    `An answer to the agent's question in ${where} may not have reached it. If the agent is ` +
    "still waiting, reply there.",
};
const LOST_TRACK = (where: string) =>
  `I lost track of your request in ${where}. Check for a new pull request before asking again.`;

/** The names that fit, and the number of those that don't. */
function listOf(names: string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const name of names) {
    length += name.length + ", ".length;
    if (length > NAMES_MAX) break;
    shown.push(name);
  }
  const more = names.length - shown.length;
  return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${grouped(more)} more`;
}
