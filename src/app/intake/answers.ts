import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { ANSWER_MAX_CHARS, type Question } from "../rules/thread/question.ts";
import { wordsIn } from "../../shared/text/text.ts";
import { maySteer, notAllowed } from "../rules/thread/people.ts";
import { questionOf, takesAnswers } from "../rules/turn/turn.ts";
import { ACTIONS, ANSWER_CHOICE, questionValue, type QuestionValue } from "../messages/actions.ts";
import { refusalText } from "../messages/refusal-message.ts";
import * as shortAnswers from "../messages/short-answers.ts";
import { answering, type AnswerTaken, type GivenAnswer } from "../rules/decisions/answering.ts";
import type { IntakeDeps } from "./deps.ts";
import { alreadyDone, answerPress, onPress, tooOld, type PressAnswer } from "./press.ts";
import type { ModalView } from "@slack/types";
import type { WebClient } from "@slack/web-api";
import { unstyled, quoteText } from "../messages/blocks.ts";

/**
 * The buttons under the agent's questions, and the form for an answer in words. An answer is stored
 * in the turn's record before Slack gets its ack.
 */
export function registerAnswers(app: App, deps: IntakeDeps): void {
  onPress(app, deps, ANSWER_CHOICE, questionValue, async (pressed, { user }) => {
    const given = { choice: pressed.choice };
    return pressAnswerOf(deps, await take(deps, { ...pressed, userId: user.id, given }), user.id);
  });

  app.action<BlockAction<ButtonAction>>(ACTIONS.answerInWords, async (press) => {
    await press.ack();
    const answer = await openForm(deps, press.client, press.action.value, press.body);
    await answerPress(deps, press, answer);
  });

  app.view(ANSWER_FORM, async ({ ack, body, view }) => {
    const text = wordsIn(view.state.values[ANSWER]?.[ANSWER]?.value ?? "");
    const error = await sent(deps, questionValue.read(view.private_metadata), text, body.user.id);
    await ack(error === null ? undefined : { response_action: "errors", errors: { [ANSWER]: error } });
  });
}

/** `trigger_id` lasts about three seconds, so there is no second try. */
async function openForm(
  deps: IntakeDeps,
  client: WebClient,
  value: string | undefined,
  { user, trigger_id }: BlockAction,
): Promise<PressAnswer> {
  const pressed = questionValue.read(value);
  if (pressed === null) return tooOld(deps);
  try {
    const turn = await deps.records.get("turn", pressed.turnId);
    const question = turn === undefined ? undefined : questionOf(turn, pressed.question);
    if (turn === undefined || question === undefined) return tooOld(deps);
    if (!maySteer(deps.followUps, turn, user.id)) return notAllowed(turn);
    if (question.answer !== undefined) return alreadyDone(question.answer.userId, user.id, "answered");
    if (!takesAnswers(turn, question)) return shortAnswers.QUESTION_CLOSED;
    await client.views.open({ trigger_id, view: answerModal(question, value ?? "") });
    return null;
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not open the form for an answer");
    return shortAnswers.ANSWER_FORM_NOT_OPENED;
  }
}

/** Takes a submitted form. Returns the error to show, in plain text, or null. */
async function sent(
  deps: IntakeDeps,
  pressed: QuestionValue | null,
  text: string,
  userId: string,
): Promise<string | null> {
  if (pressed === null) return shortAnswers.FORM_EXPIRED;
  if (text === "") return shortAnswers.NO_ANSWER;
  if (text.length > ANSWER_MAX_CHARS) {
    return refusalText({ kind: "too-long", length: text.length, limit: ANSWER_MAX_CHARS });
  }
  try {
    const taken = await take(deps, { ...pressed, userId, given: { text } });
    const isOwn = taken.kind === "answered" && taken.userId === userId;
    return isOwn ? alreadyDone(userId, userId, "answered") : ERRORS[taken.kind];
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not accept an answer");
    // Sending it again is safe.
    return shortAnswers.ANSWER_FORM_NOT_KEPT;
  }
}

/** The errors that a form shows. It can't mention anybody. */
const ERRORS: Record<AnswerTaken["kind"], string | null> = {
  taken: null,
  known: null,
  answered: shortAnswers.ANSWERED_ALREADY,
  closed: shortAnswers.QUESTION_CLOSED,
  gone: shortAnswers.FORM_EXPIRED,
  "not-allowed": shortAnswers.NOT_YOURS,
};

function take(deps: IntakeDeps, answer: GivenAnswer): Promise<AnswerTaken> {
  return deps.queue.commit((read) => answering(deps, read, answer));
}

function pressAnswerOf(deps: IntakeDeps, taken: AnswerTaken, userId: string): PressAnswer {
  if (taken.kind === "not-allowed") return taken;
  if (taken.kind === "answered") return alreadyDone(taken.userId, userId, "answered");
  if (taken.kind === "gone") return tooOld(deps);
  return ERRORS[taken.kind];
}

const ANSWER_FORM = "answer_form";

export const ANSWER = "answer";

/** The form for an answer in words. `value` says which question it is for. */
export function answerModal({ text }: Question, value: string): ModalView {
  return {
    type: "modal",
    callback_id: ANSWER_FORM,
    title: unstyled("Answer the agent"),
    submit: unstyled("Send"),
    close: unstyled("Cancel"),
    private_metadata: value,
    blocks: [
      quoteText(text || "(no text)"),
      {
        type: "input",
        block_id: ANSWER,
        label: unstyled("Your answer"),
        element: {
          type: "plain_text_input",
          action_id: ANSWER,
          multiline: true,
          max_length: ANSWER_MAX_CHARS,
          focus_on_load: true,
        },
      },
    ],
  };
}
