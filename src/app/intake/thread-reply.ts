import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { z } from "zod";
import { threadId, type AppRecords } from "../rules/records.ts";
import { isReply, type Request, type Segment } from "../rules/turn/request.ts";
import { isDirect } from "../rules/thread/request-list.ts";
import { wordsIn } from "../../shared/text/text.ts";
import { ACTIONS, replyValue } from "../messages/actions.ts";
import { refusalText } from "../messages/refusal-message.ts";
import { PRESS_NOT_KEPT, QUESTION_CLOSED, REPLY_NOT_KEPT } from "../messages/short-answers.ts";
import { asking, keepReplyMs } from "../rules/decisions/accept.ts";
import { replyAnswering } from "../rules/decisions/answering.ts";
import { whyRefused } from "./access.ts";
import { acceptRequest, confirmKnown, notAcceptedMessage } from "./accept-request.ts";
import { actOnWords, answerAuthor } from "./act-on-words.ts";
import type { IntakeDeps } from "./deps.ts";
import { causeOf, ofMembers, requestOf } from "./message-to-app.ts";
import { parseMessageText } from "../slack/message/message-text.ts";
import { placeOf, withoutQuestion, type MessagePlace } from "./place-of-words.ts";
import { answerPress, type PressAnswer } from "./press.ts";
import { readWords } from "./read-words.ts";
import type { PersonMessage } from "../slack/message/slack-message.ts";
import { typedWords } from "./typed-words.ts";
import { withoutMention } from "../slack/message/without-mention.ts";

/** The buttons under the private questions that ask what a message is. */
export function registerReplyButtons(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<ButtonAction>>(ACTIONS.sendReply, async (press) => {
    const answer = await send(deps, press.action.value, press.body.user.id);
    await press.ack();
    if (answer === REPLY_NOT_KEPT) {
      return void (await press.respond({ text: answer, response_type: "ephemeral", replace_original: true }));
    }
    // After a refusal, such as a limit, the button still works. No text means that it was sent, or
    // that the setting has changed since they were asked.
    if (typeof answer !== "string") await press.respond({ delete_original: true });
    await answerPress(deps, press, answer);
  });

  app.action<BlockAction<ButtonAction>>(ACTIONS.replyIsAnswer, async (press) => {
    const answer = await takeAsAnswer(deps, press.action.value, press.body.user.id);
    await press.ack();
    if (answer === null) return void (await press.respond({ delete_original: true }));
    // The other button still works.
    await answerPress(deps, press, answer);
  });

  app.action(ACTIONS.ignoreReply, async ({ ack, respond }) => {
    await ack();
    await respond({ delete_original: true });
  });
}

const OWN = "own-open-request";

/**
 * Handles a reply in a channel's thread that doesn't mention the app. `FOLLOW_UPS` says if it is a
 * follow-up. One that mentions somebody else is for them.
 */
export async function takeReply(deps: IntakeDeps, message: PersonMessage): Promise<void> {
  const { teamId, channelId, ts, threadTs, files } = message;
  if (deps.followUps === "mention" || !isReply(threadTs, ts)) return;
  const thread = await deps.records.get("thread", threadId({ teamId, channelId, ts: threadTs }));
  if (thread === undefined) return;
  const typed = await wordsForApp(deps, message.typed);
  if (typed === null) return;
  // Files alone go along with the next follow-up. Something is missing only if every reply is a
  // follow-up.
  if (typed === "" && (files.length === 0 || deps.followUps === "ask")) return;
  // Somebody who is only talking to others isn't told what they can't do, and none of it is kept.
  const refusal = await whyRefused(deps, message);
  const isRefused = refusal !== null && refusal.kind !== "unchecked";
  const isNobodys = deps.followUps === "ask" || refusal?.kind === "guest" || refusal?.kind === "uncheckable";
  if (isRefused && isNobodys) return;
  const request = requestOf(deps, await ofMembers(deps, message), typed);
  const at = await placeOf(deps, request);
  if (at.isKnown) return confirmKnown(deps);
  if (deps.followUps === "requester") {
    if (isRefused && at.isOwn) return answerAuthor(deps, request, { kind: "refused", refusal });
    if (isRefused) return;
    const taken = await actOnWords(deps, request, at, { wanted: OWN });
    if (taken.kind === "refused") await answerAuthor(deps, request, taken);
    return;
  }
  const { kind } = readWords(typed, at.place);
  // Nobody has to say whom these are for.
  if (kind === "thanks" || kind === "empty") return;
  await deps.queue.commit((read) => asking(deps, read, request));
}

/** The words of a reply, or null if it mentions somebody and so is for them. */
async function wordsForApp(deps: IntakeDeps, segments: readonly Segment[]): Promise<string | null> {
  const isForOthers = segments.some(({ kind }) => kind === "person" || kind === "group");
  return isForOthers ? null : wordsIn(await typedWords(deps, segments));
}

/**
 * Sends a message whose author says that it is for the agent, or is a request. Returns what its
 * author is told, or null if it was sent.
 */
async function send(deps: IntakeDeps, value: string | undefined, userId: string): Promise<PressAnswer> {
  try {
    const reply = await keptReply(deps, replyValue.read(value)?.replyId, userId);
    if (reply === undefined) return REPLY_NOT_KEPT;
    const request = { ...reply.request, receivedAt: deps.clock.now() };
    const taken =
      reply.sameAs === undefined
        ? await actOnWords(deps, request, await placeToSend(deps, reply, request), SENT)
        : await acceptRequest(deps, request, "own-job");
    if (taken.kind === "not-allowed") return taken;
    return taken.kind === "refused" ? refusalText(taken.refusal) : null;
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept a reply");
    return notAcceptedMessage(thrown, deps).text;
  }
}

const SENT = { wanted: "thread", isChosen: true } as const;

async function placeToSend(
  deps: IntakeDeps,
  { answers }: AppRecords["reply"],
  request: Request,
): Promise<MessagePlace> {
  const at = await placeOf(deps, request);
  return answers === undefined ? at : withoutQuestion(at);
}

/** Takes a direct message as the answer that its author says it is. */
async function takeAsAnswer(
  deps: IntakeDeps,
  value: string | undefined,
  userId: string,
): Promise<PressAnswer> {
  try {
    const { request, answers } = (await keptReply(deps, replyValue.read(value)?.replyId, userId)) ?? {};
    if (request === undefined || answers === undefined) return REPLY_NOT_KEPT;
    const reply = { ...request, isAdmitted: true };
    const taken = await deps.queue.commit((read) => replyAnswering(deps, read, reply, answers));
    return taken === "closed" ? QUESTION_CLOSED : null;
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept an answer");
    return PRESS_NOT_KEPT;
  }
}

/** The message that a button belongs to. Undefined if it isn't kept, or is somebody else's. */
export async function keptReply(
  { records }: Pick<IntakeDeps, "records">,
  replyId: string | undefined,
  userId: string,
): Promise<AppRecords["reply"] | undefined> {
  const reply = replyId === undefined ? undefined : await records.get("reply", replyId);
  return reply?.request.userId === userId ? reply : undefined;
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
 * Updates a message whose author was asked what it is. The buttons then send its current words, and
 * nothing if it was deleted.
 */
export async function noteChange(
  deps: IntakeDeps,
  teamId: string,
  event: object,
  botUserId: string | undefined,
): Promise<void> {
  const { data: change } = Change.safeParse(event);
  if (change === undefined || (deps.followUps !== "ask" && !isDirect(change.channelId))) return;
  const id = causeOf({ teamId, ...change });
  const kept = await deps.records.get("reply", id);
  // **Start another** and a choice of project send what a mention said when it arrived.
  if (kept === undefined || kept.sameAs !== undefined || kept.asksProject === true) return;
  const typed = parseMessageText(change.text);
  const instructions =
    kept.answers === undefined
      ? ((await wordsForApp(deps, typed)) ?? "")
      : wordsIn(await typedWords(deps, withoutMention(typed, botUserId)));
  await deps.queue.commit((read) => {
    const reply = read("reply", id);
    if (reply === undefined || reply.request.instructions === instructions) return { value: undefined };
    const record = instructions === "" ? null : { ...reply, request: { ...reply.request, instructions } };
    const ttlMs = keepReplyMs(reply.request, deps.clock.now());
    return { writes: [{ kind: "reply", id, record, ttlMs }], value: undefined };
  });
}
