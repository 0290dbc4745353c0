import type { Message, Place, PostLabel } from "../core/notifier.ts";
import type { Task, TaskEnd } from "../core/task-queue.ts";
import type { TaskDeps } from "./deps.ts";
import { afterFault } from "./post.ts";

/**
 * Slack takes 50 updates and more a minute, over a whole workspace (tier 3, docs.slack.dev/apis/web-api/rate-limits): 45 a minute, and
 * five at once after a pause.
 */
export const UPDATE_RATE = { gapMs: 1334, burst: 5 };

/** The gate that updates in a workspace wait at. */
export function updateGate(teamId: string): string {
  return `update:${teamId}`;
}

/** What came of an attempt. `refused`: Slack's error where the post can no longer be updated. `later`: `end` says when to come again. */
type PostUpdate =
  | { kind: "updated"; refused: string | null }
  | { kind: "later"; isFault: boolean; end: TaskEnd };

type UpdateTask = Task & { payload: { slotMs?: number | undefined } };

/** Replaces a post's content, when its slot at Slack has come. Idempotent. */
export async function updatePost(
  deps: Pick<TaskDeps, "clock" | "random" | "logger" | "notifier" | "slots">,
  task: UpdateTask,
  post: { place: Place; ts: string; message: Message; label: PostLabel },
): Promise<PostUpdate> {
  const { place } = post;
  const gate = updateGate(place.teamId);
  const now = deps.clock.now();
  const slotMs = await deps.slots.reserve(gate, UPDATE_RATE, task.payload.slotMs);
  if (slotMs > now) {
    const end = { kind: "wait", dueAt: slotMs, payload: { ...task.payload, slotMs } } as const;
    return { kind: "later", isFault: false, end };
  }
  const updated = await deps.notifier.update(place, post.ts, post.message, post.label);
  if (updated.ok) return { kind: "updated", refused: null };
  const { kind, error, retryAfterMs } = updated.fault;
  if (kind !== "place") {
    if (retryAfterMs !== undefined) await deps.slots.postpone(gate, now + retryAfterMs);
    return { kind: "later", isFault: true, end: afterFault(deps, task, updated.fault) };
  }
  deps.logger.warn({ error, post: post.label.post }, "a message can no longer be updated");
  return { kind: "updated", refused: error };
}
