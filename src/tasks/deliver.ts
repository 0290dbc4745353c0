import { z } from "zod";
import { Outcome } from "../core/outcome.ts";
import { STATUS_SLOT } from "../core/records.ts";
import { laneOf } from "../core/request.ts";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { LANE_GAP_MS, deliveryResult } from "./delivery-result.ts";
import type { TaskDeps } from "./deps.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { postSomewhere } from "./post-somewhere.ts";
import { refreshStatus } from "./refresh.ts";
import { TurnLostError, requireTurn } from "./require-turn.ts";
import { linkThread } from "./thread-link.ts";

const DeliverPayload = TurnPayload.extend({ watch: z.number().int(), outcome: Outcome });
type DeliverPayload = z.infer<typeof DeliverPayload>;

/** One per watch of a turn: its id is what makes the outcome one. */
export function deliverTask(turn: Turn, outcome: Outcome): NewTask {
  return {
    id: `deliver:${turn.id}:${turn.watch}`,
    type: "deliver",
    lane: laneOf(turn.request),
    payload: {
      ...turnPayload(turn),
      watch: turn.watch,
      outcome,
    } satisfies DeliverPayload,
  };
}

/** Says the outcome in the thread, once, as a reply (edits notify nobody); then brings the status message up to date. */
export async function deliver(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { turnId, watch, outcome } = DeliverPayload.parse(task.payload);
  const turn = await requireTurn(deps, turnId);
  const posts = await deps.records.posts.get(turnId);
  if (posts === undefined)
    throw new TurnLostError(`There is no readable record of the posts of turn ${turnId}.`);
  await linkThread(deps, turn, posts);
  const posted = await postSomewhere(
    deps,
    posts,
    `outcome-${watch}`,
    turn.request,
    ({ place, away, slots }) => ({
      kind: "outcome",
      turn,
      outcome,
      watch,
      // A reply to a status message that is in the direct message, too, has nothing to explain.
      away: slots[STATUS_SLOT]?.channelId === place.channelId ? null : away,
    }),
  );
  if (!posted.ok) return deliveryResult(deps, task, posted.fault);
  deps.logger.info({ outcome: outcome.kind, away: posted.posts.away }, "outcome delivered");
  const refreshed = await refreshStatus(deps, turn, posted.posts);
  if (refreshed.kind === "fault") return deliveryResult(deps, task, refreshed.fault);
  return { kind: "done", laneGapMs: LANE_GAP_MS };
}
