import type { App, BlockAction, ButtonAction, RespondFn } from "@slack/bolt";
import { ANSWER_MAX_CHARS, isOpen } from "../core/question.ts";
import { maySteer } from "../core/steering.ts";
import { questionOf } from "../core/turn.ts";
import { ANSWER_IN_WORDS, ANY_ANSWER_CHOICE, parseQuestionValue } from "../replies/actions.ts";
import type { QuestionValue } from "../replies/actions.ts";
import { refusalText } from "../replies/private-messages.ts";
import { answering } from "../tasks/answer.ts";
import type { AnswerTaken, GivenAnswer } from "../tasks/answer.ts";
import { ANSWER, ANSWER_FORM, answerModal } from "./answer-form.ts";
import type { IntakeDeps } from "./deps.ts";
import { sayNotAllowed } from "./not-allowed.ts";
import { NOT_KEPT, privately, tooOld } from "./press.ts";

const CLOSED = "The agent no longer waits for an answer.";
const FORM_NOT_OPENED = "I couldn't open the form. Press the button again.";
const FORM_EXPIRED = "This form has expired. Copy your text and open it again.";
const FORM_NOT_KEPT = "I can't tell whether that was saved. Send it again.";

/** The buttons under the agent's questions, and the form for an answer in words. An answer is in the turn's record before Slack gets its ack. */
export function registerAnswers(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(ANY_ANSWER_CHOICE, async ({ ack, action, body, respond }) => {
    const refusal = await chosen(deps, action.value, body.user.id);
    await ack();
    await sayPrivately(deps, refusal, body, respond);
  });

  app.action<BlockAction<ButtonAction>>(ANSWER_IN_WORDS, async ({ ack, action, body, client, respond }) => {
    await ack();
    const refusal = await openForm(deps, action.value, body, (view) =>
      client.views.open({ trigger_id: body.trigger_id, view }),
    );
    await sayPrivately(deps, refusal, body, respond);
  });

  app.view(ANSWER_FORM, async ({ ack, body, view }) => {
    const text = (view.state.values[ANSWER]?.[ANSWER]?.value ?? "").trim();
    const error = await sent(deps, parseQuestionValue(view.private_metadata), text, body.user.id);
    await ack(error === null ? undefined : { response_action: "errors", errors: { [ANSWER]: error } });
  });
}

/** Why a press came to nothing; null: what the person sees says enough. */
type Refusal = { kind: "said"; text: string } | { kind: "not-allowed"; requesterId: string } | null;

async function chosen(deps: IntakeDeps, value: string | undefined, userId: string): Promise<Refusal> {
  const pressed = parseQuestionValue(value);
  if (pressed === null) return { kind: "said", text: tooOld(deps) };
  try {
    return refusalOf(deps, await take(deps, pressed, userId, { choice: pressed.choice }), userId);
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not accept an answer");
    return { kind: "said", text: NOT_KEPT };
  }
}

/** `trigger_id` lasts about three seconds, so there is no second try. */
async function openForm(
  deps: IntakeDeps,
  value: string | undefined,
  { user }: BlockAction,
  open: (view: ReturnType<typeof answerModal>) => Promise<unknown>,
): Promise<Refusal> {
  const pressed = parseQuestionValue(value);
  if (pressed === null) return { kind: "said", text: tooOld(deps) };
  try {
    const turn = await deps.records.turn.get(pressed.turnId);
    const question = turn === undefined ? undefined : questionOf(turn, pressed.question);
    if (turn === undefined || question === undefined) return { kind: "said", text: tooOld(deps) };
    if (!maySteer(deps.followUps, turn, user.id)) {
      return { kind: "not-allowed", requesterId: turn.request.userId };
    }
    if (question.answer !== undefined) {
      return { kind: "said", text: alreadyAnswered(question.answer.userId, user.id) };
    }
    if (!isOpen(question)) return { kind: "said", text: CLOSED };
    await open(answerModal(question, value ?? ""));
    return null;
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not open the form for an answer");
    return { kind: "said", text: FORM_NOT_OPENED };
  }
}

/** What is wrong with a form that was sent: plain text; null: nothing. */
async function sent(
  deps: IntakeDeps,
  pressed: QuestionValue | null,
  text: string,
  userId: string,
): Promise<string | null> {
  if (pressed === null) return FORM_EXPIRED;
  if (text === "") return "Type an answer.";
  if (text.length > ANSWER_MAX_CHARS) {
    return refusalText({ kind: "too-long", length: text.length, limit: ANSWER_MAX_CHARS });
  }
  try {
    const taken = await take(deps, pressed, userId, { text });
    switch (taken.kind) {
      case "taken":
      case "known":
        return null;
      case "answered":
        return taken.userId === userId ? "You already answered that." : "Somebody already answered that.";
      case "closed":
        return CLOSED;
      case "gone":
        return FORM_EXPIRED;
      case "not-allowed":
        return "Only the person who asked for this can do that.";
    }
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not accept an answer");
    // The same again changes nothing.
    return FORM_NOT_KEPT;
  }
}

function take(
  deps: IntakeDeps,
  { turnId, question }: QuestionValue,
  userId: string,
  given: GivenAnswer["given"],
): Promise<AnswerTaken> {
  return deps.queue.commit((read) => answering(deps, read, { turnId, question, userId, given }));
}

function refusalOf(deps: IntakeDeps, taken: AnswerTaken, userId: string): Refusal {
  switch (taken.kind) {
    case "taken":
    case "known":
      return null;
    case "answered":
      return { kind: "said", text: alreadyAnswered(taken.userId, userId) };
    case "closed":
      return { kind: "said", text: CLOSED };
    case "gone":
      return { kind: "said", text: tooOld(deps) };
    case "not-allowed":
      return taken;
  }
}

function alreadyAnswered(by: string, userId: string): string {
  return by === userId ? "You already answered that." : `<@${by}> already answered that.`;
}

async function sayPrivately(
  deps: IntakeDeps,
  refusal: Refusal,
  body: BlockAction,
  respond: RespondFn,
): Promise<void> {
  if (refusal === null) return;
  if (refusal.kind === "said") {
    await respond(privately(refusal.text, body));
    return;
  }
  await sayNotAllowed(deps, body, refusal.requesterId);
}
