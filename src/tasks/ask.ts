import { z } from "zod";
import { jobInThread } from "../core/follow-up.ts";
import type { ProjectRef } from "../core/project.ts";
import type { Read, RecordOf } from "../core/records.ts";
import type { Request } from "../core/request.ts";
import type { Plan, Step, Task } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { answerPrivately } from "./reply.ts";
import type { TaskDeps } from "./deps.ts";
import { Slotted, readTask } from "./payload.ts";
import { afterFault } from "./post.ts";

/** How long the words of a message are kept for its author to say whether to send them. */
const KEPT_MS = 24 * 60 * 60_000;

/** How long such a reply is kept from now on, milliseconds. */
export function keepReplyMs({ receivedAt }: Request, now: number): number {
  return Math.max(1, receivedAt + KEPT_MS - now);
}

const AskPayload = Slotted.extend({ replyId: z.string() });

/** Asks the author of a reply in the thread of an open job whether it is for the agent. Once, however often the reply arrives. */
export function asking(deps: { projects: readonly ProjectRef[] }, read: Read, request: Request): Plan<void> {
  if (jobInThread(read, request, deps.projects).kind !== "open") return { value: undefined };
  return askingOf({ version: 1, request });
}

/** Asks the author of a request whether to start it, as `same` runs, which is for the same. Once, however often the request arrives. */
export function askingBeside(request: Request, same: Turn): Plan<void> {
  return askingOf({ version: 1, request, sameAs: { turnId: same.id } });
}

function askingOf(record: RecordOf<"reply">): Plan<void> {
  const { id } = record.request;
  const payload = { replyId: id } satisfies z.infer<typeof AskPayload>;
  return {
    writes: [{ kind: "reply", id, record, ttlMs: KEPT_MS }],
    adds: [{ id: `ask:${id}`, type: "ask", payload }],
    value: undefined,
  };
}

/** Shows the question to the author alone; twice, if the answer to that is lost. Where they can't see it, a reply in a thread starts nothing. */
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
