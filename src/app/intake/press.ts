import type {
  App,
  BlockAction,
  ButtonAction,
  Context,
  FeedbackButtonsAction,
  OverflowAction,
  RespondFn,
} from "@slack/bolt";
import { z } from "zod";
import type { Rendered } from "../messages/blocks.ts";
import type { MessageOf } from "../rules/ports/notifier.ts";
import { FORGOTTEN } from "../rules/forgotten/forgotten.ts";
import { isReply } from "../rules/turn/request.ts";
import { counted } from "../../shared/text/text.ts";
import { PRESS_NOT_KEPT } from "../messages/short-answers.ts";
import { tooFewMachinesMessage } from "./accept-request.ts";
import { teamOf, type IntakeDeps } from "./deps.ts";

/** The private answer to a press. Null if what the person sees says enough. */
export type PressAnswer = string | Rendered | MessageOf<"not-allowed"> | null;

/** A press, and the ways to answer it. */
type Press = { body: BlockAction; context: Pick<Context, "teamId">; respond: RespondFn };

/**
 * Handles a button or menu: runs `act` with the parsed value before Slack gets its ack, then
 * answers the person.
 */
export function onPress<T extends object>(
  app: App,
  deps: IntakeDeps,
  actionId: string | RegExp,
  carried: { read: (value: string | undefined) => T | null },
  act: (pressed: T, body: BlockAction, context: Context) => Promise<PressAnswer>,
): void {
  app.action<BlockAction<ButtonAction | FeedbackButtonsAction | OverflowAction>>(actionId, async (press) => {
    const { action, body, context } = press;
    const value = "selected_option" in action ? action.selected_option.value : action.value;
    const answer = await answerTo(deps, carried.read(value), (pressed) => act(pressed, body, context));
    await press.ack();
    await answerPress(deps, press, answer);
  });
}

/** Runs `act`, which may throw, and returns the answer to the press. */
export async function answerTo<T extends object, Answer extends PressAnswer>(
  deps: IntakeDeps,
  pressed: T | null,
  act: (pressed: T) => Promise<Answer>,
): Promise<Answer | string> {
  if (pressed === null) return tooOld(deps);
  try {
    return await act(pressed);
  } catch (thrown) {
    const turn = "turnId" in pressed ? pressed.turnId : undefined;
    deps.logger.error({ err: thrown, turn }, "could not accept a button");
    return tooFewMachinesMessage(thrown, deps.contact)?.text ?? PRESS_NOT_KEPT;
  }
}

/** Answers a press, to that person alone. */
export async function answerPress(
  { notifier, logger }: Pick<IntakeDeps, "notifier" | "logger">,
  { body, context, respond }: Press,
  answer: PressAnswer,
): Promise<void> {
  if (answer === null) return;
  if (!("response_url" in body)) return answerInHome({ notifier, logger }, body, answer);
  const thread = threadOfButton(body);
  if (typeof answer === "string" || !("kind" in answer)) {
    const shown = typeof answer === "string" ? { text: answer } : answer;
    await respond({ ...shown, response_type: "ephemeral", replace_original: false, ...thread });
    return;
  }
  const { userId, responseUrl, ...place } = placeOfPress(body, context);
  const reply = await notifier.replyPrivately({ place, userId, responseUrl }, answer);
  if (!reply.ok) logger.warn({ error: reply.fault.error }, "could not say who may press a button");
}

const InHome = z.object({ view: z.object({ type: z.literal("home") }), user: z.object({ id: z.string() }) });

/** A press in the Home tab has no address for an answer, so the tab itself shows it. */
async function answerInHome(
  { notifier, logger }: Pick<IntakeDeps, "notifier" | "logger">,
  body: object,
  answer: Exclude<PressAnswer, null>,
): Promise<void> {
  const { data } = InHome.safeParse(body);
  const notice = typeof answer === "string" ? answer : "text" in answer ? answer.text : undefined;
  if (data === undefined || notice === undefined) return;
  const shown = await notifier.publishHome(data.user.id, { kind: "home", page: { notice } });
  if (!shown.ok) logger.warn({ error: shown.fault.error }, "could not say what became of a press");
}

/** Who pressed a button, and where to answer them alone. */
export function placeOfPress(body: BlockAction, context: Pick<Context, "teamId">) {
  const threadTs = threadOfButton(body).thread_ts ?? null;
  return {
    teamId: teamOf(context),
    channelId: body.channel?.id ?? "",
    threadTs,
    userId: body.user.id,
    // In a thread, a response URL would show it in the channel.
    responseUrl: threadTs === null ? body.response_url : null,
  };
}

/**
 * The thread that a pressed button is in. Empty if the button is in the channel, as in a thread's
 * first message.
 */
export function threadOfButton(body: object): { thread_ts?: string } {
  const { thread_ts: threadTs, message_ts: messageTs } = containerOf(body);
  return isReply(threadTs, messageTs) ? { thread_ts: threadTs } : {};
}

/** The thread of the message that a pressed button is in, which may begin it. */
export function threadOfMessage(body: BlockAction): string | null {
  return body.message?.thread_ts ?? containerOf(body).thread_ts ?? body.message?.ts ?? null;
}

const Contained = z.object({
  container: z.object({ thread_ts: z.string().optional(), message_ts: z.string().optional() }),
});

/** The message that a pressed button is in, as far as Slack says. */
export function containerOf(body: object): z.infer<typeof Contained>["container"] {
  return Contained.safeParse(body).data?.container ?? {};
}

/** Somebody was first, perhaps this person. */
export function alreadyDone(
  by: string,
  userId: string,
  did: "did" | "answered" | "asked for" = "did",
): string {
  const who = by === FORGOTTEN ? "Somebody" : `<@${by}>`;
  return `${by === userId ? "You" : who} already ${did} that.`;
}

/** The button's record is no longer kept. */
export function tooOld({ retentionMs }: Pick<IntakeDeps, "retentionMs">): string {
  const days = Math.round(retentionMs / (24 * 60 * 60_000));
  return `I keep requests for ${counted(days, "day")}. Ask again with \`/docs-agent\`.`;
}
