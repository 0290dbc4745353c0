import { z } from "zod";
import { jobInThread } from "../core/turn/follow-up.ts";
import type { ProjectRef } from "../core/job/project.ts";
import type { Read, RecordOf } from "../core/ports/records.ts";
import type { Request } from "../core/turn/request.ts";
import type { Plan } from "../core/ports/task-queue.ts";
import type { Turn } from "../core/turn/turn.ts";
import { Slotted } from "./payload.ts";

/** How long a message's words are kept for its author to decide whether to send them. */
const KEPT_MS = 24 * 60 * 60_000;

/** How long to keep such a reply from now on, milliseconds. */
export function keepReplyMs({ receivedAt }: Request, now: number): number {
  return Math.max(1, receivedAt + KEPT_MS - now);
}

export const AskPayload = Slotted.extend({ replyId: z.string() });

/**
 * Asks the author of a reply in an open job's thread if it is for the agent. It asks once, however
 * often the reply arrives.
 */
export function asking(deps: { projects: readonly ProjectRef[] }, read: Read, request: Request): Plan<void> {
  if (jobInThread(read, request, deps.projects).kind !== "open") return { value: undefined };
  return askingOf({ version: 1, request });
}

/**
 * Asks the author of a request whether to start it although `same`, which asks for the same, is
 * running. It asks once, however often the request arrives.
 */
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
