import type { Step, Task } from "../core/ports/task-queue.ts";
import { answerPrivately } from "./reply.ts";
import type { TaskDeps } from "../decisions/deps.ts";
import { readTask } from "../decisions/payload.ts";
import { afterFault } from "./post.ts";
import { AskPayload } from "../decisions/asking.ts";

/**
 * Shows the question to the author alone. They may see it twice if Slack's answer is lost. If they
 * can't see it, a reply in a thread starts nothing.
 */
export async function ask(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(AskPayload, given);
  const { replyId } = task.payload;
  const reply = await deps.records.reply.get(replyId);
  if (reply === undefined) return { kind: "done" };
  const { teamId, channelId, threadTs, userId, responseUrl } = reply.request;
  const same = reply.sameAs === undefined ? undefined : await deps.records.turn.get(reply.sameAs.turnId);
  if (same !== undefined) {
    const to = { place: { teamId, channelId, threadTs: null }, userId, responseUrl };
    const agoMs = deps.clock.now() - same.request.receivedAt;
    return answerPrivately(deps, task, to, { kind: "asked-before", replyId, turn: same, agoMs });
  }
  const to = { place: { teamId, channelId, threadTs }, userId, responseUrl };
  const asked = await deps.notifier.replyPrivately(to, { kind: "ask", replyId });
  if (asked.ok || asked.fault.kind === "place") return { kind: "done" };
  return afterFault(deps, task, asked.fault);
}
