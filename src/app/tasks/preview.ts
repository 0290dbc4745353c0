import { NEWEST_TURNS_MAX } from "../rules/thread/follow-up.ts";
import { isPosted, outcomeSlot } from "../rules/turn/delivery.ts";
import { endingOf } from "../rules/turn/outcome.ts";
import type { TurnPullRequest } from "../rules/turn/turn-pull-request.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { shownPreview } from "../rules/words/pull-request-text.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { previewTasks } from "../rules/decisions/new-tasks.ts";
import { type TaskWith, TurnPayload } from "../rules/decisions/payload.ts";
import { changeTurn, readTurnTask } from "../rules/decisions/turn-writes.ts";
import { updatePost } from "./post.ts";
import { postExtras, threadRecordOf } from "./post-for-turn.ts";

/**
 * Shows in the job's newest result where its pull request can be looked at, by editing, because a
 * post would notify people. An earlier result that shows it loses it first. Idempotent, and nothing
 * waits for it. What Slack refuses isn't tried again until the address changes.
 */
export async function preview(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, TurnPayload, given);
  const { previewAt } = turn.pullRequest ?? {};
  const url = shownPreview(turn);
  const newest = await newestResult(deps, turn);
  const isMoved = previewAt !== undefined && previewAt.turnId !== newest?.id;
  if (!isMoved && url === (previewAt?.url ?? null)) return { kind: "done" };
  const result = isMoved ? await deps.records.get("turn", previewAt.turnId) : newest;
  const shown = isMoved ? null : url;
  if (result !== undefined) {
    const end = await showIn(deps, task, result, shown);
    if (end !== null) return end;
  }
  if (result === undefined && !isMoved) return { kind: "done" };
  const at = result === undefined || shown === null ? undefined : { turnId: result.id, url: shown };
  const { slotMs: _, ...payload } = task.payload;
  return changeTurn(
    deps,
    turn.id,
    (now) => ({ ...now, pullRequest: now.pullRequest && withPreviewAt(now.pullRequest, at) }),
    (next) =>
      previewTasks(next).length === 0
        ? {}
        : { value: { kind: "again" as const, dueAt: deps.clock.now(), payload } },
  );
}

/** The newest posted result of the turn's job that has a pull request. */
async function newestResult(deps: TaskDeps, turn: Turn): Promise<Turn | undefined> {
  const { turnIds = [] } = (await threadRecordOf(deps, turn)) ?? {};
  const newest = turnIds.slice(-NEWEST_TURNS_MAX).toReversed();
  for (const id of [...newest, turn.id]) {
    const other = await deps.records.get("turn", id);
    if (other?.stage.name !== "ended" || other.job?.id !== turn.job?.id) continue;
    const isResult = endingOf(other.stage.outcome) === "pull-request";
    if (isResult && isPosted(other.delivery, outcomeSlot(other.watch))) return other;
  }
  return undefined;
}

/** Edits a result. Null once it is done, or can't be. */
async function showIn(
  deps: TaskDeps,
  task: TaskWith<TurnPayload>,
  result: Turn,
  shown: string | null,
): Promise<Step | null> {
  const { stage, watch, delivery, request } = result;
  const slot = outcomeSlot(watch);
  const post = delivery.slots[slot];
  if (stage.name !== "ended" || post === undefined || post.ts === null) return null;
  const thread = await threadRecordOf(deps, result);
  const updated = await updatePost(deps, task, {
    place: { teamId: request.teamId, channelId: post.channelId, threadTs: delivery.threadTs },
    ts: post.ts,
    message: {
      kind: "outcome",
      turn: result,
      outcome: stage.outcome,
      watch,
      ...(shown !== null && { preview: shown }),
      ...(await postExtras(deps, result, slot, thread)),
    },
    label: { turnId: result.id, post: slot },
  });
  return updated.kind === "later" ? updated.end : null;
}

function withPreviewAt(
  { previewAt: _previewAt, ...pullRequest }: TurnPullRequest,
  at: TurnPullRequest["previewAt"],
): TurnPullRequest {
  return at === undefined ? pullRequest : { ...pullRequest, previewAt: at };
}
