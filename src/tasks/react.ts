import { z } from "zod";
import { askingMessage, reactionChanges, reactionOf } from "../core/status-text.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { afterFault } from "./post.ts";
import { readTurnTask } from "./turn-writes.ts";

/**
 * Slack takes 50 new reactions and more a minute over a workspace (tier 3), and 20 that are taken away (tier 2):
 * docs.slack.dev/reference/methods/reactions.add and reactions.remove
 */
const ADD_RATE = { gapMs: 1334, burst: 5 };
const REMOVE_RATE = { gapMs: 3200, burst: 3 };

/** `shown`: what the turn's state was when the run began whose first `done` changes are made. */
const ReactPayload = TurnPayload.extend({
  shown: z.string().nullable().optional(),
  done: z.number().int().optional(),
});

/** What is to be added when a turn begins or has ended: a reaction under the message that asked, if there is one. */
export function reactTasks(turn: Turn): NewTask[] {
  if (askingMessage(turn.request) === null) return [];
  return [{ id: `react:${turn.id}`, type: "react", known: "latest", payload: turnPayload(turn) }];
}

/** Brings the reactions to what is true when it runs. Idempotent, best effort, and nothing waits for it. */
export async function react(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, ReactPayload, given);
  const { payload } = task;
  const message = askingMessage(turn.request);
  if (message === null) return { kind: "done" };
  const shown = reactionOf(turn);
  const isSame = payload.shown === shown;
  const changes = reactionChanges(turn);
  let slotMs = isSame ? payload.slotMs : undefined;
  for (let done = isSame ? (payload.done ?? 0) : 0; done < changes.length; done += 1) {
    const change = changes[done];
    if (change === undefined) break;
    const gate = `${change.isOn ? "react" : "unreact"}:${message.teamId}`;
    const at = await deps.slots.reserve(gate, change.isOn ? ADD_RATE : REMOVE_RATE, slotMs);
    const state = { ...payload, shown, done };
    if (at > deps.clock.now()) return { kind: "wait", dueAt: at, payload: { ...state, slotMs: at } };
    slotMs = undefined;
    const answer = await deps.notifier.react(message, change);
    if (answer.ok) continue;
    const { fault } = answer;
    if (fault.kind === "place" || fault.kind === "credentials") {
      deps.logger.debug({ error: fault.error }, "no reaction there");
      return { kind: "done" };
    }
    if (fault.retryAfterMs !== undefined) {
      await deps.slots.postpone(gate, deps.clock.now() + fault.retryAfterMs);
    }
    return afterFault(deps, { ...task, payload: state }, fault);
  }
  return { kind: "done" };
}
