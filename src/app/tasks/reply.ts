import type { Message, Recipient } from "../rules/ports/notifier.ts";
import type { Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { readTask, type RateLimitedTask } from "../rules/decisions/payload.ts";
import { afterFault, untilReserved } from "./post.ts";
import { ReplyPayload } from "../rules/decisions/new-tasks.ts";
import { privatePlace } from "../rules/turn/request.ts";
import { AskPayload } from "../rules/decisions/accept.ts";
import { questionOf } from "../rules/turn/turn.ts";

/**
 * `chat.postEphemeral` allows over 100 a minute in a workspace
 * (docs.slack.dev/apis/web-api/rate-limits).
 */
const PRIVATE_RATE = { gapMs: 600, burst: 5 };

/**
 * Shows a message to one person alone, where they are or, if that place takes no private answer, in
 * a direct message. They may see it twice if Slack's answer is lost.
 */
export async function answerPrivately(
  deps: TaskDeps,
  task: RateLimitedTask,
  to: Recipient,
  message: Message,
): Promise<TaskEnd> {
  const gate = `private:${to.place.teamId}`;
  const wait = await untilReserved(deps, task, gate, PRIVATE_RATE);
  if (wait !== null) return wait;
  const answer = await deps.notifier.replyPrivately(to, message);
  if (answer.ok) return { kind: "done" };
  if (answer.fault.kind !== "place") return afterFault(deps, task, answer.fault, gate);
  const { teamId } = to.place;
  const dm = await deps.notifier.openDirectMessage(to.userId);
  const posted = dm.ok
    ? await deps.notifier.post({ teamId, channelId: dm.value.channelId, threadTs: null }, message, {
        turnId: task.id,
        post: "reply",
      })
    : dm;
  if (posted.ok) return { kind: "done" };
  const { fault } = posted;
  if (fault.kind === "place") return { kind: "dead", reason: `${answer.fault.error}; ${fault.error}` };
  return afterFault(deps, task, fault);
}

/** Shows a person privately what they can ask for, or what was wrong with their request. */
export async function reply(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(ReplyPayload, given);
  const { userId, message, ...place } = task.payload;
  return answerPrivately(deps, task, { place, userId, responseUrl: null }, message);
}

/**
 * Shows the question to the author alone. They may see it twice if Slack's answer is lost. If they
 * can't see it, a reply in a thread starts nothing.
 */
export async function ask(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(AskPayload, given);
  const { replyId } = task.payload;
  const reply = await deps.records.get("reply", replyId);
  if (reply === undefined) return { kind: "done" };
  const { userId, responseUrl } = reply.request;
  const to = { place: privatePlace(reply.request), userId, responseUrl };
  if (reply.asksProject === true) {
    return answerPrivately(deps, task, to, { kind: "ask-project", replyId });
  }
  const same = reply.sameAs === undefined ? undefined : await deps.records.get("turn", reply.sameAs.turnId);
  if (same !== undefined) {
    const { mayAdd = false } = reply.sameAs ?? {};
    const agoMs = deps.clock.now() - same.request.receivedAt;
    const isOwn = same.request.userId === userId;
    return answerPrivately(deps, task, to, {
      kind: "asked-before",
      replyId,
      turn: same,
      isOwn,
      mayAdd,
      agoMs,
    });
  }
  const asking = reply.answers && (await deps.records.get("turn", reply.answers.turnId));
  const question = asking && questionOf(asking, reply.answers?.question ?? 0);
  if (question !== undefined) {
    return answerPrivately(deps, task, to, { kind: "ask-which", replyId, question });
  }
  const asked = await deps.notifier.replyPrivately(to, { kind: "ask", replyId });
  if (asked.ok || asked.fault.kind === "place") return { kind: "done" };
  return afterFault(deps, task, asked.fault);
}
