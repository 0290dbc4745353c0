import type { BlockAction, Context, RespondFn } from "@slack/bolt";
import type { MessageOf } from "../core/notifier.ts";
import { PRESS_NOT_KEPT } from "../replies/short-answers.ts";
import type { IntakeDeps } from "./deps.ts";
import { teamOf } from "./deps.ts";

/** Only the requester may do that. */
export type NotAllowed = MessageOf<"not-allowed">;

/** What to say to whoever pressed a button, alone; null: what they see says enough. */
export type PressAnswer = string | NotAllowed | null;

/** A press, and the ways to answer it. */
type Press = {
  ack: () => Promise<void>;
  body: BlockAction;
  context: Pick<Context, "teamId">;
  respond: RespondFn;
};

/** Does what a button says, `pressed` being what it carries, before Slack gets its ack; then answers whoever pressed it. */
export async function takePress<T extends { turnId: string }>(
  deps: IntakeDeps,
  press: Press,
  pressed: T | null,
  act: (pressed: T) => Promise<PressAnswer>,
): Promise<void> {
  const answer = await answerTo(deps, pressed, act);
  await press.ack();
  await answerPress(deps, press, answer);
}

/** What to say of a press that is taken by `act`, which may throw. */
export async function answerTo<T extends { turnId: string }, Answer extends PressAnswer>(
  deps: IntakeDeps,
  pressed: T | null,
  act: (pressed: T) => Promise<Answer>,
): Promise<Answer | string> {
  if (pressed === null) return tooOld(deps);
  try {
    return await act(pressed);
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not accept a button");
    return PRESS_NOT_KEPT;
  }
}

/** Says it to whoever pressed a button, alone. */
export async function answerPress(
  deps: Pick<IntakeDeps, "notifier" | "logger">,
  { body, context, respond }: Omit<Press, "ack">,
  answer: PressAnswer,
): Promise<void> {
  if (typeof answer === "string") {
    await respond({
      text: answer,
      response_type: "ephemeral",
      replace_original: false,
      ...threadOfButton(body),
    });
  } else if (answer !== null) {
    await sayNotAllowed(deps, { body, context }, answer);
  }
}

async function sayNotAllowed(
  { notifier, logger }: Pick<IntakeDeps, "notifier" | "logger">,
  { body, context }: Pick<Press, "body" | "context">,
  message: NotAllowed,
): Promise<void> {
  const { user, channel, response_url: responseUrl } = body;
  const threadTs = threadOfButton(body).thread_ts ?? null;
  const place = { teamId: teamOf(context), channelId: channel?.id ?? "", threadTs };
  // A response URL shows it in the channel.
  const to = { place, userId: user.id, responseUrl: threadTs === null ? responseUrl : null };
  const told = await notifier.replyPrivately(to, message);
  if (!told.ok) logger.warn({ error: told.fault.error }, "could not say who may press a button");
}

/** The thread that a pressed button is in; nothing where it stands in the channel, as a thread's first message does. */
export function threadOfButton({ container }: Pick<BlockAction, "container">): { thread_ts?: string } {
  const { thread_ts: threadTs, message_ts: messageTs } = container;
  return typeof threadTs === "string" && threadTs !== messageTs ? { thread_ts: threadTs } : {};
}

/** Somebody was first, perhaps the person themselves. */
export function alreadyDone(userId: string, { user }: Pick<BlockAction, "user">): string {
  return userId === user.id ? "You already did that." : `<@${userId}> already did that.`;
}

/** Somebody has answered, perhaps the person themselves. */
export function alreadyAnswered(by: string, userId: string): string {
  return by === userId ? "You already answered that." : `<@${by}> already answered that.`;
}

/** What a button belongs to is no longer kept. */
export function tooOld({ retentionMs }: Pick<IntakeDeps, "retentionMs">): string {
  const days = Math.round(retentionMs / (24 * 60 * 60_000));
  return `I keep requests for ${days} ${days === 1 ? "day" : "days"}. Ask again with \`/docs-agent\`.`;
}
