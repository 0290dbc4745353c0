import type { App } from "@slack/bolt";
import { z } from "zod";
import { replyTask, sessionTask } from "../rules/decisions/new-tasks.ts";
import { threadWrite } from "../rules/decisions/turn-writes.ts";
import type { PrivateAnswer, Refusal } from "../rules/ports/notifier.ts";
import {
  keyOfWrite,
  type Plan,
  type Read,
  readAfter,
  threadId,
  type ThreadRecord,
} from "../rules/records.ts";
import { newestOfThread } from "../rules/thread/follow-up.ts";
import { maySteer } from "../rules/thread/people.ts";
import { teamOf, type IntakeDeps } from "./deps.ts";
import type { PressAnswer } from "./press.ts";
import { stopping } from "./status-buttons.ts";

/** A press of the Stop button that Slack shows while a thread's session is processing. */
type NativeStop = { teamId: string; channelId: string; threadTs: string; userId: string; eventTs: string };

/** https://docs.slack.dev/reference/events/agent_session_stopped */
const Stopped = z.object({
  event: z.object({
    type: z.literal("agent_session_stopped"),
    channel: z.string(),
    user: z.string(),
    thread_ts: z.string(),
    event_ts: z.string(),
  }),
});

/** The most presses that a thread remembers, which Slack may tell of again. */
const STOPS_MAX = 20;

/**
 * Handles Slack's own Stop in a thread. It has the rights and effects of **Stop** in the status
 * message of the turn that runs.
 */
export function registerNativeStop(app: App, deps: IntakeDeps): void {
  app.event("agent_session_stopped", async ({ body, context }) => {
    const stop = nativeStopOf(body, teamOf(context));
    if (stop === null) return;
    await deps.queue.commit((read) => taking(deps, read, stop, (now) => stoppingIn(deps, now, stop)));
  });
}

/** The press that an event tells of, or null if it tells of something else. */
export function nativeStopOf(body: unknown, teamId: string): NativeStop | null {
  const { event } = Stopped.safeParse(body).data ?? {};
  if (event === undefined) return null;
  const { channel: channelId, thread_ts: threadTs, user: userId, event_ts: eventTs } = event;
  return { teamId, channelId, threadTs, userId, eventTs };
}

/** Tells a person alone, once, why their press stops nothing. */
export async function refuseNativeStop(deps: IntakeDeps, stop: NativeStop, refusal: Refusal): Promise<void> {
  const value = { kind: "refused", refusal } as const;
  await deps.queue.commit((read) => taking(deps, read, stop, () => ({ value })));
}

/**
 * Takes a press, once. Slack leaves it to the app to change the session's status, so that is set
 * anew, also if nothing is stopped.
 */
function taking(
  deps: IntakeDeps,
  read: Read,
  stop: NativeStop,
  decide: (read: Read) => Plan<PressAnswer | PrivateAnswer>,
): Plan<void> {
  const { teamId, channelId, threadTs, userId, eventTs } = stop;
  const place = { teamId, channelId, ts: threadTs };
  const thread = read("thread", threadId(place));
  if (thread?.stops?.includes(eventTs) === true) return { value: undefined };
  const noted = thread === undefined ? [] : [threadWrite(deps, withStop(thread, eventTs))];
  const written = new Map(noted.map((write) => [keyOfWrite(write), write]));
  const { writes = [], adds = [], value } = decide(readAfter(read, written));
  for (const write of writes) written.set(keyOfWrite(write), write);
  const isForThem = value !== null && typeof value === "object" && "kind" in value;
  const answer = isForThem
    ? [
        replyTask(`stop:${threadId(place)}:${eventTs}`, {
          teamId,
          channelId,
          threadTs,
          userId,
          message: value,
        }),
      ]
    : [];
  return { writes: [...written.values()], adds: [...adds, sessionTask(place), ...answer], value: undefined };
}

function withStop({ session: _session, stops = [], ...thread }: ThreadRecord, eventTs: string): ThreadRecord {
  return { ...thread, stops: [...stops, eventTs].slice(-STOPS_MAX) };
}

/**
 * Stops what the button of the running turn would: of the oldest turn that isn't being stopped and
 * that the person may steer, if there is one.
 */
function stoppingIn(deps: IntakeDeps, read: Read, stop: NativeStop): Plan<PressAnswer> {
  const running = newestOfThread(read, stop)
    .filter((turn) => turn.stage.name !== "ended" && turn.stop === undefined)
    .toArray();
  const own = running.filter((turn) => maySteer(deps.followUps, turn, stop.userId));
  const turn = own.at(-1) ?? running.at(-1);
  if (turn === undefined) return { value: null };
  return stopping(deps, read, turn.delivery.statusOf ?? turn.id, stop.userId);
}
