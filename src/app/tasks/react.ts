import { z } from "zod";
import type { NotifierFault } from "../rules/ports/notifier.ts";
import { askingMessage, reactionChanges, reactionOf } from "../rules/words/status-text.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { ThankPayload } from "../rules/decisions/new-tasks.ts";
import { readTask, TurnPayload } from "../rules/decisions/payload.ts";
import { afterFault } from "./post.ts";
import { readTurnTask } from "../rules/decisions/turn-writes.ts";

/**
 * Slack allows 50 or more new reactions a minute in a workspace (tier 3), and 20 removals (tier 2):
 * docs.slack.dev/reference/methods/reactions.add and reactions.remove
 */
const ADD_RATE = { gapMs: 1334, burst: 5 };

const REMOVE_RATE = { gapMs: 3200, burst: 3 };

/** `done` counts the changes already made, and `shown` is the turn's state that they are for. */
const ReactPayload = TurnPayload.extend({
  shown: z.string().nullable().optional(),
  done: z.number().int().optional(),
});

/** Answers thanks with a reaction. Idempotent and best effort: silence where Slack takes none. */
export async function thank(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(ThankPayload, given);
  const { teamId, channelId, ts, slotMs } = task.payload;
  const gate = `react:${teamId}`;
  const reserved = await deps.rateLimiter.reserve(gate, ADD_RATE, slotMs);
  if (reserved.at > deps.clock.now()) {
    const payload = { ...task.payload, slotMs: reserved.reservedMs };
    return { kind: "wait", dueAt: reserved.at, payload };
  }
  const answer = await deps.notifier.react({ teamId, channelId, ts }, { name: "blush", isOn: true });
  if (answer.ok || isNoReactionThere(deps, answer.fault)) return { kind: "done" };
  return afterFault(deps, task, answer.fault, gate);
}

function isNoReactionThere({ logger }: Pick<TaskDeps, "logger">, { kind, error }: NotifierFault): boolean {
  const isFinal = kind === "place" || kind === "credentials";
  if (isFinal) logger.debug({ error }, "no reaction there");
  return isFinal;
}

/**
 * Makes the reactions match the state when it runs. Idempotent, best effort, and nothing waits for
 * it.
 */
export async function react(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, ReactPayload, given);
  const { payload } = task;
  const message = askingMessage(turn.request);
  if (message === null) return { kind: "done" };
  const shown = reactionOf(turn);
  const isSame = payload.shown === shown;
  const changes = reactionChanges(turn);
  let heldMs = isSame ? payload.slotMs : undefined;
  for (const [done, change] of changes.entries().drop(isSame ? (payload.done ?? 0) : 0)) {
    const gate = `${change.isOn ? "react" : "unreact"}:${message.teamId}`;
    const reserved = await deps.rateLimiter.reserve(gate, change.isOn ? ADD_RATE : REMOVE_RATE, heldMs);
    const state = { ...payload, shown, done };
    if (reserved.at > deps.clock.now()) {
      return { kind: "wait", dueAt: reserved.at, payload: { ...state, slotMs: reserved.reservedMs } };
    }
    heldMs = undefined;
    const answer = await deps.notifier.react(message, change);
    if (answer.ok) continue;
    if (isNoReactionThere(deps, answer.fault)) return { kind: "done" };
    return afterFault(deps, { ...task, payload: state }, answer.fault, gate);
  }
  return { kind: "done" };
}
