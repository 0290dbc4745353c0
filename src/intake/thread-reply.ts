import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { z } from "zod";
import { threadId } from "../core/ports/records.ts";
import type { Segment } from "../core/turn/request.ts";
import { wordsIn } from "../core/text/text.ts";
import { ACTIONS, replyValue } from "../replies/actions.ts";
import { refusalText } from "../replies/private-messages.ts";
import { REPLY_NOT_KEPT } from "../replies/short-answers.ts";
import { aimedAt, asking, keepReplyMs } from "../decisions/accept.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import { teamOf, tooLong, type IntakeDeps } from "./deps.ts";
import {
  isDirectMessage,
  directMessageIn,
  WrittenMessage,
  toPersonMessage,
  type PersonMessage,
} from "./slack-message.ts";
import { answerPress, type PressAnswer } from "./press.ts";
import { answerMessage, requestOf, takeMessage, causeOf } from "./message-to-app.ts";
import { typedWords } from "./typed-words.ts";
import { parseMessageText } from "./message-text.ts";

/**
 * A new reply by a person in a thread, with or without files. Edits, joins, broadcasts to the
 * channel, other subtypes and messages by apps are excluded.
 */
const ThreadReply = WrittenMessage.extend({
  subtype: z.literal("file_share").optional(),
  thread_ts: z.string(),
});

/**
 * Handles direct messages, which are all for the app, and replies in channel threads that don't
 * mention the app. `FOLLOW_UPS` says if such a reply is a follow-up. A reply that mentions somebody
 * else is for them, and one that mentions the app also arrives as a mention.
 */
export function registerThreadReply(app: App, deps: IntakeDeps): void {
  app.event("message", async ({ event, context }) => {
    const teamId = teamOf(context);
    if (isDirectMessage(event)) {
      const direct = directMessageIn(teamId, event);
      if (direct !== null && direct.userId !== context.botUserId)
        await takeMessage(deps, direct, context.botUserId);
      return;
    }
    const reply = ThreadReply.safeParse(event);
    if (reply.success) await takeReply(deps, toPersonMessage(teamId, reply.data));
    else await noteChange(deps, teamId, event);
  });

  app.action<BlockAction<ButtonAction>>(ACTIONS.sendReply, async (press) => {
    const answer = await send(deps, press.action.value, press.body.user.id);
    await press.ack();
    await press.respond(
      typeof answer === "string"
        ? { text: answer, response_type: "ephemeral", replace_original: true }
        : { delete_original: true },
    );
    // The setting has changed since they were asked.
    if (typeof answer !== "string") await answerPress(deps, press, answer);
  });

  app.action(ACTIONS.ignoreReply, async ({ ack, respond }) => {
    await ack();
    await respond({ delete_original: true });
  });
}

const OWN = "own-open-request";

/** Handles a reply in a channel's thread that doesn't mention the app. */
async function takeReply(deps: IntakeDeps, message: PersonMessage): Promise<void> {
  const { teamId, channelId, ts, threadTs, userId, typed, files } = message;
  if (deps.followUps === "mention" || threadTs === null || threadTs === ts) return;
  const thread = await deps.records.thread.get(threadId({ teamId, channelId, ts: threadTs }));
  if (thread === undefined) return;
  const instructions = await wordsForApp(deps, typed);
  if (instructions === null) return;
  // Files alone go along with the next follow-up. Something is missing only if every reply is a
  // follow-up.
  if (instructions === "" && (files.length === 0 || deps.followUps === "ask")) return;
  // A guest who is only talking to others isn't told what they can't do, and none of it is kept.
  const admission = await deps.directory.admission(userId);
  if (admission === "guest" || admission === "uncheckable") return;
  const request = requestOf(deps, message, deps.projects[0], instructions);
  if (deps.followUps === "ask") {
    await deps.queue.commit((read) => asking(deps, read, request));
    return;
  }
  const refusal = tooLong(instructions);
  if (instructions !== "" && refusal === null) {
    const accepted = await acceptRequest(deps, request, OWN);
    if (accepted.kind === "refused") await answerMessage(deps, message, accepted);
    return;
  }
  const isOwn = await deps.queue.read((read) => aimedAt(deps, read, request, OWN) !== undefined);
  if (!isOwn) return;
  const answer =
    refusal === null ? { kind: "help" as const, isOfFiles: true } : { kind: "refused" as const, refusal };
  await answerMessage(deps, message, answer);
}

/** The words of a reply, or null if it mentions somebody and so is for them. */
async function wordsForApp(deps: IntakeDeps, segments: readonly Segment[]): Promise<string | null> {
  const isForOthers = segments.some(({ kind }) => kind === "person" || kind === "group");
  return isForOthers ? null : wordsIn(await typedWords(deps, segments));
}

/**
 * Sends a reply whose author says it is for the agent. Returns what replaces the question, or null
 * to remove it.
 */
async function send(deps: IntakeDeps, value: string | undefined, userId: string): Promise<PressAnswer> {
  const replyId = replyValue.read(value)?.replyId;
  try {
    const reply = replyId === undefined ? undefined : await deps.records.reply.get(replyId);
    if (reply?.request.userId !== userId) return REPLY_NOT_KEPT;
    const request = { ...reply.request, receivedAt: deps.clock.now() };
    const refusal = tooLong(request.instructions);
    if (refusal !== null) return refusalText(refusal);
    const accepted = await acceptRequest(deps, request, reply.sameAs === undefined ? "thread" : "own-job");
    if (accepted.kind === "not-allowed") return accepted;
    return accepted.kind === "refused" ? refusalText(accepted.refusal) : null;
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept a reply");
    return notAcceptedMessage(thrown).text;
  }
}

/**
 * Slack's event for a message that was edited or got a link preview:
 * docs.slack.dev/reference/events/message/message_changed
 */
const Changed = z
  .object({
    subtype: z.literal("message_changed"),
    channel: z.string(),
    message: z.object({ ts: z.string(), text: z.string().nullish() }),
  })
  .transform(({ channel, message: { ts, text } }) => ({ channelId: channel, ts, text: text ?? "" }));

/** Slack's event for a deleted message: docs.slack.dev/reference/events/message/message_deleted */
const Deleted = z
  .object({ subtype: z.literal("message_deleted"), channel: z.string(), deleted_ts: z.string() })
  .transform(({ channel, deleted_ts }) => ({ channelId: channel, ts: deleted_ts, text: "" }));

const Change = z.union([Changed, Deleted]);

/**
 * Updates a reply whose author was asked if it is for the agent. **Send it** then sends its current
 * words, and nothing if it was deleted.
 */
async function noteChange(deps: IntakeDeps, teamId: string, event: object): Promise<void> {
  const { data: change } = Change.safeParse(event);
  if (change === undefined || deps.followUps !== "ask") return;
  const id = causeOf({ teamId, ...change });
  const kept = await deps.records.reply.get(id);
  // **Start another** sends what a mention said when it arrived.
  if (kept === undefined || kept.sameAs !== undefined) return;
  const instructions = (await wordsForApp(deps, parseMessageText(change.text))) ?? "";
  await deps.queue.commit((read) => {
    const reply = read("reply", id);
    if (reply === undefined || reply.request.instructions === instructions) return { value: undefined };
    const record = instructions === "" ? null : { ...reply, request: { ...reply.request, instructions } };
    const ttlMs = keepReplyMs(reply.request, deps.clock.now());
    return { writes: [{ kind: "reply", id, record, ttlMs }], value: undefined };
  });
}
