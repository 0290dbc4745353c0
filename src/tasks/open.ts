import { z } from "zod";
import { Request, laneOf } from "../core/request.ts";
import { OPENED_KEY } from "../core/status-text.ts";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import { newTurn } from "../core/turn.ts";
import { STATUS_SLOT } from "../core/records.ts";
import type { Posts } from "../core/records.ts";
import { LANE_GAP_MS, deliveryResult } from "./delivery-result.ts";
import type { TaskDeps } from "./deps.ts";
import { Whose, whoseOf } from "./payload.ts";
import { postSomewhere } from "./post-somewhere.ts";
import { submitTask } from "./submit.ts";

const OpenPayload = z.object({ request: Request, whose: Whose });

/**
 * The task that a request is accepted as: adding it durably is the acceptance, and its id, made from what Slack sent, is what
 * makes a redelivery a no-op.
 */
export function openTask(request: Request): NewTask {
  return {
    id: `open:${request.id}`,
    type: "open",
    lane: laneOf(request),
    payload: { request, whose: whoseOf(request) },
  };
}

/** Opens the turn: says in the thread (or in a direct message) that the request was taken, then has it submitted. */
export async function open(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { request } = OpenPayload.parse(task.payload);
  const { turns, posts } = deps.records;
  const posted = await postSomewhere(
    deps,
    (await posts.get(request.id)) ?? newPosts(request),
    STATUS_SLOT,
    request,
    ({ away }) => ({ kind: "status", request, turn: null, away }),
    (error) => inviteMe(deps, request, error),
  );
  if (!posted.ok) return deliveryResult(deps, task, posted.fault);
  const { channelId } = posted.posts.place;
  const ts = posted.posts.place.threadTs ?? posted.ts;
  // What is there already was written by an earlier run of this task, and the turn may have moved on since.
  if (posted.posts.shown === null) {
    const place = { channelId, threadTs: ts };
    await posts.set(request.id, { ...posted.posts, place, shown: OPENED_KEY });
  }
  let turn = await turns.get(request.id);
  if (turn === undefined) {
    turn = newTurn(request, { channelId, ts });
    await turns.set(turn.id, turn);
  }
  await deps.queue.add(submitTask(turn));
  deps.logger.info(
    { from: request.from, project: request.project, thread: `${channelId}:${ts}` },
    "turn opened",
  );
  return { kind: "done", laneGapMs: LANE_GAP_MS };
}

function newPosts(request: Request): Posts {
  return {
    version: 1,
    turnId: request.id,
    place: { channelId: request.channelId, threadTs: request.threadTs },
    away: null,
    slots: {},
    shown: null,
  };
}

async function inviteMe(deps: TaskDeps, request: Request, error: string): Promise<void> {
  if (request.responseUrl === null) return;
  const told = await deps.notifier.replyPrivately(
    { place: request, userId: request.userId, responseUrl: request.responseUrl },
    { kind: "invite-me", channelId: request.channelId, error },
  );
  // The direct message that follows says the same, so this one may be lost.
  if (!told.ok) deps.logger.warn({ fault: told.fault }, "could not say privately how to invite the app");
}
