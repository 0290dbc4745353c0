import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { z } from "zod";
import type { Refusal } from "../core/notifier.ts";
import { threadId } from "../core/records.ts";
import { PROMPT_MAX_CHARS } from "../core/request.ts";
import type { Request } from "../core/request.ts";
import { IGNORE_REPLY, SEND_REPLY, replyValue } from "../replies/actions.ts";
import { refusalText } from "../replies/private-messages.ts";
import { aimedAt } from "../tasks/accept.ts";
import { asking } from "../tasks/ask.ts";
import { REPLY_NOT_KEPT } from "../replies/short-answers.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import type { IntakeDeps } from "./deps.ts";
import { isDirectMessage, saidDirectly } from "./direct-message.ts";
import { answerPress } from "./press.ts";
import type { PressAnswer } from "./press.ts";
import { noteChange } from "./reply-change.ts";
import { answerSaid, requestOf, takeSaid } from "./said-to-app.ts";
import { parseMessageText, readableText } from "./message-text.ts";
import { WrittenMessage, saidOf } from "./slack-message.ts";
import type { Said } from "./slack-message.ts";
import { teamOf } from "./team.ts";

const MESSAGE_EVENT = "message";

/**
 * What a person has just written in a thread, with files or without. Edits, joins, broadcasts to the channel and whatever else has another
 * subtype are none, and nor is what apps write.
 */
const ThreadReply = WrittenMessage.extend({
  subtype: z.literal("file_share").optional(),
  thread_ts: z.string(),
});

/**
 * A direct message to the app is for the app. A reply in a channel's thread that doesn't mention the app: `FOLLOW_UPS` says whether it is a
 * follow-up. One that mentions somebody else is for them, and one that mentions the app arrives as a mention, too.
 */
export function registerThreadReply(app: App, deps: IntakeDeps): void {
  app.event(MESSAGE_EVENT, async ({ event, context }) => {
    const teamId = teamOf(context);
    if (isDirectMessage(event)) {
      const direct = saidDirectly(teamId, event);
      if (direct !== null && direct.userId !== context.botUserId)
        await takeSaid(deps, direct, context.botUserId);
      return;
    }
    const reply = ThreadReply.safeParse(event);
    if (reply.success) await takeReply(deps, saidOf(teamId, reply.data));
    else await noteChange(deps, teamId, event);
  });

  app.action<BlockAction<ButtonAction>>(SEND_REPLY, async ({ ack, action, body, context, respond }) => {
    const said = await send(deps, action.value, body.user.id);
    await ack();
    await respond(
      typeof said === "string"
        ? { text: said, response_type: "ephemeral", replace_original: true }
        : { delete_original: true },
    );
    // The setting was another one when they were asked.
    if (typeof said !== "string") await answerPress(deps, { body, context, respond }, said);
  });

  app.action(IGNORE_REPLY, async ({ ack, respond }) => {
    await ack();
    await respond({ delete_original: true });
  });
}

const OWN = "own-open-request";

/** A reply in a channel's thread that doesn't mention the app. */
async function takeReply(deps: IntakeDeps, said: Said): Promise<void> {
  const { teamId, channelId, ts, threadTs, userId, text, files } = said;
  if (deps.followUps === "mention" || threadTs === null || threadTs === ts) return;
  const thread = await deps.records.thread.get(threadId({ teamId, channelId, ts: threadTs }));
  if (thread === undefined) return;
  const segments = parseMessageText(text);
  if (segments.some(({ kind }) => kind === "person" || kind === "group")) return;
  const instructions = readableText(segments).trim();
  // Files alone go along with the next follow-up; only where each reply is one is something missing.
  if (instructions === "" && (files.length === 0 || deps.followUps === "ask")) return;
  // A guest who only talks to others isn't told what they can't do, and nothing of it is kept.
  const admission = await deps.directory.admission(teamId, userId);
  if (admission === "guest" || admission === "uncheckable") return;
  const request = requestOf(deps, said, deps.projects[0], instructions);
  if (deps.followUps === "ask") {
    await deps.queue.commit((read) => asking(deps, read, request));
    return;
  }
  if (instructions !== "" && instructions.length <= PROMPT_MAX_CHARS) {
    const accepted = await acceptRequest(deps, request, OWN);
    if (accepted.kind !== "refused") return;
    await answerSaid(deps, said, { kind: "refused", refusal: accepted.refusal });
    return;
  }
  const isOwn = await deps.queue.read((read) => aimedAt(deps, read, request, OWN) !== undefined);
  if (!isOwn) return;
  if (instructions === "") await answerSaid(deps, said, { kind: "help", isOfFiles: true });
  else await answerSaid(deps, said, { kind: "refused", refusal: tooLong(request) });
}

function tooLong({ instructions }: Request): Refusal {
  return { kind: "too-long", length: instructions.length, limit: PROMPT_MAX_CHARS };
}

/** Sends a reply that its author says is for the agent. What to say instead of the question; null: nothing. */
async function send(deps: IntakeDeps, value: string | undefined, userId: string): Promise<PressAnswer> {
  const replyId = replyValue.read(value)?.replyId;
  try {
    const reply = replyId === undefined ? undefined : await deps.records.reply.get(replyId);
    if (reply?.request.userId !== userId) return REPLY_NOT_KEPT;
    const request = { ...reply.request, receivedAt: deps.clock.now() };
    if (request.instructions.length > PROMPT_MAX_CHARS) return refusalText(tooLong(request));
    const accepted = await acceptRequest(deps, request, reply.sameAs === undefined ? "thread" : "own-job");
    if (accepted.kind === "not-allowed") return accepted;
    return accepted.kind === "refused" ? refusalText(accepted.refusal) : null;
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept a reply");
    return notAcceptedMessage(thrown).text;
  }
}
