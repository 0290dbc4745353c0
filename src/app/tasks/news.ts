import { newsSlot, settledAt, type Delivery } from "../rules/turn/delivery.ts";
import { GROUP_MS, isGrouping, newsKindOf } from "../rules/turn/pull-request-news.ts";
import {
  nextNews,
  type TurnPullRequest,
  withClosed,
  withoutNews,
  withTold,
} from "../rules/turn/turn-pull-request.ts";
import type { Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import type { Decision, Step } from "../rules/records.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { offerOf } from "../rules/thread/acting.ts";
import { newsTasks } from "../rules/decisions/new-tasks.ts";
import { TurnPayload } from "../rules/decisions/payload.ts";
import { changeTurn, readTurnTask } from "../rules/decisions/turn-writes.ts";
import { postExtras, postForTurn, threadRecordOf } from "./post-for-turn.ts";

/**
 * Tells a thread what became of its pull request: one post for each piece of news, once, oldest
 * first. News wait for outcomes and other posts. Safe to repeat. News that Slack doesn't take for a
 * day are left out: the status message shows how the pull request stands.
 */
export async function news(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, TurnPayload, given);
  const { pullRequest } = turn;
  const next = pullRequest === undefined ? undefined : nextNews(pullRequest);
  if (pullRequest === undefined || next === undefined) return { kind: "done" };
  const now = deps.clock.now();
  if (isGrouping(next, now)) return { kind: "again", dueAt: next.at + GROUP_MS };
  // What a post says can't change between its intent and its result.
  if (next.kind === "changes-requested" && next.isClosed !== true) {
    return noted(deps, turn.id, (current) => withClosed(current, next.id));
  }
  const slot = newsSlot(next.id);
  const kind = newsKindOf(next);
  if (
    kind === "conflicts" &&
    pullRequest.conflictsSince === undefined &&
    turn.delivery.slots[slot] === undefined
  ) {
    // They were resolved before anybody was told.
    return noted(deps, turn.id, (current) => withoutNews(current, next.id));
  }
  const said = await postExtras(deps, turn, slot, await threadRecordOf(deps, turn));
  // Direct messages say once why they are there, in the post that the others are below.
  const movedBecause = turn.delivery.threadTs === null ? said.movedBecause : null;
  const offer = offerOf(pullRequest, next);
  const { url } = pullRequest;
  const message = { kind: "news", turn, news: next, url, offer, ...said, movedBecause } as const;
  // One task tells all news. Each has a day from when it was heard.
  const tried = { ...task, addedAt: Math.max(task.addedAt, next.at) };
  const attempt = await postForTurn(deps, tried, turn, slot, message, true);
  const told = (posted?: (delivery: Delivery) => Delivery) =>
    noted(deps, turn.id, (current) => withTold(current, next.id), posted);
  if (attempt.kind === "posted") {
    deps.logger.info({ news: kind }, "news of a pull request told");
    // In direct messages, later news go below the first.
    return told((delivery) => settledAt(attempt.change(delivery), slot));
  }
  const { step } = attempt;
  if (typeof step !== "function") return step;
  return (read) => {
    const plan = step(read);
    if (plan.value.kind !== "dead") return plan;
    deps.logger.warn({ news: kind, reason: plan.value.reason }, "news of a pull request given up");
    return told()(read);
  };
}

/** Changes the turn's pull request. The task goes on while there is something to tell. */
function noted(
  deps: TaskDeps,
  turnId: string,
  change: (pullRequest: TurnPullRequest) => TurnPullRequest,
  posted = (delivery: Delivery) => delivery,
): Decision<TaskEnd> {
  return changeTurn(
    deps,
    turnId,
    ({ pullRequest, ...turn }) => ({
      ...turn,
      delivery: posted(turn.delivery),
      pullRequest: pullRequest && change(pullRequest),
    }),
    (next) => {
      const [again] = newsTasks(next);
      if (again === undefined) return {};
      return { value: { kind: "again", dueAt: deps.clock.now(), payload: again.payload } };
    },
  );
}
