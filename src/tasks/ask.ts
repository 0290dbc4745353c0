import { z } from "zod";
import { jobInThread } from "../core/follow-up.ts";
import type { ProjectRef } from "../core/project.ts";
import type { Read } from "../core/records.ts";
import type { Request } from "../core/request.ts";
import { storedObject } from "../core/stored-object.ts";
import type { Plan, Step, Task } from "../core/task-queue.ts";
import type { TaskDeps } from "./deps.ts";
import { readPayload } from "./payload.ts";
import { afterFault } from "./post.ts";

/** How long the words of a reply are kept for its author to say that they are for the agent. */
const KEPT_MS = 24 * 60 * 60_000;

/** How long such a reply is kept from now on, milliseconds. */
export function keepReplyMs({ receivedAt }: Request, now: number): number {
  return Math.max(1, receivedAt + KEPT_MS - now);
}

const AskPayload = storedObject({
  replyId: z.string(),
  slotMs: z.number().optional(),
  lookMs: z.number().optional(),
});
type AskPayload = z.infer<typeof AskPayload>;

/** Asks the author of a reply in the thread of an open job whether it is for the agent. Once, however often the reply arrives. */
export function asking(deps: { projects: readonly ProjectRef[] }, read: Read, request: Request): Plan<void> {
  if (jobInThread(read, request, deps.projects).kind !== "open") return { value: undefined };
  const payload = { replyId: request.id } satisfies AskPayload;
  return {
    writes: [{ kind: "reply", id: request.id, record: { version: 1, request }, ttlMs: KEPT_MS }],
    adds: [{ id: `ask:${request.id}`, type: "ask", payload }],
    value: undefined,
  };
}

/** Shows the question to the author alone; twice, if the answer to that is lost. Where they can't see it, the reply starts nothing. */
export async function ask(deps: TaskDeps, task: Task): Promise<Step> {
  const payload = readPayload(AskPayload, task);
  const { replyId } = payload;
  const reply = await deps.records.reply.get(replyId);
  if (reply === undefined) return { kind: "done" };
  const { teamId, channelId, threadTs, userId, responseUrl } = reply.request;
  const asked = await deps.notifier.replyPrivately(
    { place: { teamId, channelId, threadTs }, userId, responseUrl },
    { kind: "ask", replyId },
  );
  if (asked.ok || asked.fault.kind === "place") return { kind: "done" };
  return afterFault(deps, { ...task, payload }, asked.fault);
}
