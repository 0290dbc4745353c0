import type { BlockAction, RespondArguments } from "@slack/bolt";
import type { IntakeDeps } from "./deps.ts";

/** True also when the store's answer was lost. Pressing twice does nothing twice. */
export const NOT_KEPT =
  "I can't tell whether that was saved. If nothing happens within a minute, press the button again.";

/** The turn that a button belongs to has ended. */
export const FINISHED = "The agent has already finished. See the last message of this request.";

/** What to say to the person who pressed a button, `pressed` being what it carries; null: what they see says enough. */
export async function press<T extends { turnId: string }>(
  deps: IntakeDeps,
  pressed: T | null,
  act: (pressed: T) => Promise<string | null>,
): Promise<string | null> {
  if (pressed === null) return tooOld(deps);
  try {
    return await act(pressed);
  } catch (thrown) {
    deps.logger.error({ err: thrown, turn: pressed.turnId }, "could not accept a button");
    return NOT_KEPT;
  }
}

/** What only the person who pressed sees, in the thread that the button is in. */
export function privately(text: string, body: Pick<BlockAction, "container">): RespondArguments {
  return { text, response_type: "ephemeral", replace_original: false, ...threadOfButton(body) };
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

/** What a button belongs to is no longer kept. */
export function tooOld({ retentionMs }: Pick<IntakeDeps, "retentionMs">): string {
  const days = Math.round(retentionMs / (24 * 60 * 60_000));
  return `I keep requests for ${days} ${days === 1 ? "day" : "days"}. Ask again with \`/docs-agent\`.`;
}
