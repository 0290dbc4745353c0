import type { Button, KnownBlock, RichTextBlock } from "@slack/types";
import type { MessageOf } from "../rules/ports/notifier.ts";
import { type AnswerResult, isOpen, type PersonAnswer, type Question } from "../rules/thread/question.ts";
import { counted, cut, roughDuration } from "../../shared/text/text.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { ACTIONS, IN_WORDS, answerChoiceId, questionValue } from "./actions.ts";
import { movedBlocks } from "./links.ts";
import {
  actions,
  context,
  labeled,
  linePart,
  listPart,
  quoteText,
  richText,
  section,
  SAID_MAX,
  STATE_MAX,
  untrusted,
  words,
  type Rendered,
  type View,
} from "./blocks.ts";
import { QUESTION_CLOSED } from "./short-answers.ts";
import { cutEscaped } from "./mrkdwn.ts";
import { overdueKey } from "../rules/turn/overdue.ts";
import { stopButton } from "./status-message.ts";

/**
 * "text may truncate with ~30 characters"
 * (docs.slack.dev/reference/block-kit/block-elements/button-element).
 */
const BUTTON_READABLE_MAX = 30;

/**
 * The agent's question: mentions the requester and offers the choices. Once it is closed, the
 * buttons give way to who answered what.
 */
export function questionMessage(
  { turn, question, movedBecause, muted = [] }: MessageOf<"question">,
  view: View,
): Rendered {
  const { request } = turn;
  const { answer, text } = question;
  const lead = isOpen(question)
    ? `💬 ${muted.includes(request.userId) ? "" : `<@${request.userId}> `}The agent asks:`
    : "💬 The agent asked:";
  const end = endOf(question, view.contact);
  const answered =
    answer === undefined ? "" : `<@${answer.userId}> answered: ${cutEscaped(answer.words, SAID_MAX)}`;
  return {
    text: [`${lead} ${cutEscaped(text, STATE_MAX)}`, answered, end].filter((line) => line !== "").join("\n"),
    blocks: [
      ...movedBlocks(request, movedBecause, view),
      section(lead),
      quoteText(text || "(no text)"),
      ...(isOpen(question) ? waysToAnswer(turn, question, view.contact) : []),
      ...(answer === undefined ? [] : [answerBlock(answer)]),
      ...(end === "" ? [] : [section(end)]),
    ],
  };
}

/** Long choices are listed above their numbered buttons, so that all of each can be read. */
function waysToAnswer(turn: Turn, question: Question, contact: string): KnownBlock[] {
  const { choices, moreChoices, allowsText } = question;
  const labels = choices.map(({ label }) => label);
  const isListed = labels.some(({ length }) => length > BUTTON_READABLE_MAX);
  const valueOf = (choice: number) =>
    questionValue.write({ turnId: turn.id, question: question.number, choice });
  const buttons: Button[] = [
    ...labels.map((label, index) => ({
      ...labeled(answerChoiceId(index), label, valueOf(index)),
      text: untrusted(isListed ? `${index + 1}` : label),
      ...(isListed ? { accessibility_label: cut(`${index + 1}: ${label}`, ACCESSIBILITY_LABEL_MAX) } : {}),
    })),
    ...(allowsText ? [labeled(ACTIONS.answerInWords, "Answer…", valueOf(IN_WORDS))] : []),
  ];
  const more = `${counted(moreChoices, "more choice doesn't", "more choices don't")} fit here.`;
  return [
    ...(isListed ? [richText(listPart("ordered", labels))] : []),
    ...(moreChoices === 0 ? [] : [context([more])]),
    ...(buttons.length === 0
      ? [section(`This question can't be answered in Slack. Contact ${contact}.`)]
      : []),
    ...actions(buttons),
  ];
}

/** docs.slack.dev/reference/block-kit/block-elements/button-element */
const ACCESSIBILITY_LABEL_MAX = 75;

function answerBlock(answer: PersonAnswer): RichTextBlock {
  const said = words(cut(answer.words, SAID_MAX), { bold: true });
  return richText(linePart({ type: "user", user_id: answer.userId }, words(" answered: "), said));
}

/** A last remark on a closed question. May be empty. */
function endOf({ answer, closed }: Question, contact: string): string {
  if (answer !== undefined) {
    const end = RESULTS[answer.result ?? "taken"](contact);
    return answer.isFollowUp === true ? `${end} It's a follow-up now.` : end;
  }
  if (closed === undefined) return "";
  // Whether its time was up isn't known: after a restart of the service, the agent asks anew.
  return closed === "elsewhere" ? "Answered outside Slack." : QUESTION_CLOSED;
}

/** What is said about how sending an answer ended. */
const RESULTS: Record<AnswerResult, (contact: string) => string> = {
  taken: () => "",
  late: () => "Too late: the agent has already moved on.",
  elsewhere: () => "Too late: the agent already got an answer outside Slack.",
  refused: (contact) => `The agent didn't accept this answer. If it keeps happening, contact ${contact}.`,
  unsent: () => "I couldn't reach the agent, so it didn't get this answer.",
  unsure: () => "I can't tell whether the agent got this answer.",
};

/**
 * The notice that a turn takes longer than usual: mentions the requester, and offers to stop the
 * turn while that helps.
 */
export function overdueMessage(
  { turn, overdue, movedBecause, muted = [] }: MessageOf<"overdue">,
  view: View,
): Rendered {
  const { userId } = turn.request;
  const who = muted.includes(userId) ? "" : `<@${userId}> `;
  const usual = roughDuration(overdue.usualMs);
  const key = overdueKey(turn);
  const text =
    key === "over"
      ? `⌛ Took longer than usual (usually ${usual}).`
      : `⌛ ${who}Taking longer than usual: ${roughDuration(overdue.afterMs)} so far, usually ${usual}.`;
  return {
    text,
    blocks: [
      ...movedBlocks(turn.request, movedBecause, view),
      section(text),
      ...actions(key === "open" ? [stopButton(turn)] : []),
    ],
  };
}
