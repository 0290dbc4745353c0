import type { Button } from "@slack/types";
import { cut, formatAgo } from "../../shared/text/text.ts";
import type { MessageOf, OwnAnswer } from "../rules/ports/notifier.ts";
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
  NAME_MAX,
  paragraph,
  quoteText,
  type Rendered,
  section,
  STATE_MAX,
  turnButton,
  TYPED_MAX,
  type View,
} from "./blocks.ts";
import { fittingNames } from "./refusal-message.ts";
import { cutEscaped, escapeMrkdwn } from "./mrkdwn.ts";

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
            `${fittingNames(names)}; ${asksForProject ? ASKED : "the first is the default"}`,
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

const TASK_ID_MAX = 200;
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

/** The request is saved, but a second machine that should have it hasn't confirmed it. */
export const onOneMachineMessage = paragraph(
  "Saved, but only on one machine so far. If you hear nothing here in five minutes, ask again.",
);

/** Nothing was saved, because a second machine that should have it has been missing for a while. */
export function notTakenMessage(contact: string): Rendered {
  return paragraph(
    "I can't take requests right now, because they'd be saved on only one machine. " +
      `Ask again in a few minutes. If it keeps happening, contact ${contact}.`,
  );
}

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
