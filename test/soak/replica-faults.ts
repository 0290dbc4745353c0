import { setTimeout as sleep } from "node:timers/promises";
import type { ReplicaFault } from "./replica-plan.ts";
import type { ReplicaRedis } from "./replica-redis.ts";
import type { RunningApp } from "./running-app.ts";
import type { WayToSlack } from "./way-to-slack.ts";

/** A replica, and its way to Slack. */
export type Replica = { app: RunningApp; slackWay: WayToSlack };
/** The replicas, and the Redis that they share. */
export type Replicas = { replicas: readonly Replica[]; redis: ReplicaRedis };

/** If the replica posts nothing for this time, the strike comes without a post. */
const STRIKE_WITHIN_MS = 10_000;
/** By this time, every replica must have noticed that Redis is away. */
const NOTICE_AFTER_MS = 25_000;

/** /readyz asks Redis at most every two seconds. */
const NOTICE_TROUBLE_AFTER_MS = 5_000;
const TROUBLE_EVERY_MS = 300;

/** Describes a fault for the progress. */
export function faultText(fault: ReplicaFault): string {
  switch (fault.do) {
    case "kill":
      return `replica ${fault.replica + 1} is killed (SIGKILL) and restarted after ${fault.downMs / 1000} s`;
    case "pause":
      return `replica ${fault.replica + 1} is paused (SIGSTOP) for ${fault.forMs / 1000} s`;
    case "redis-kill":
      return `Redis is killed (SIGKILL) and restarted after ${fault.downMs / 1000} s`;
    case "redis-tail":
      return `Redis loses its last ${fault.lastMs / 1000} s and is restarted after ${fault.downMs / 1000} s`;
    case "redis-away":
      return `Redis is unreachable (${fault.how}) for ${fault.forMs / 1000} s`;
    case "redis-trouble":
      return `Redis: ${fault.what}, for ${fault.forMs / 1000} s`;
    case "slack-away":
      return (
        `replica ${fault.replica + 1} is cut off from Slack (${fault.how}) ` +
        `for ${(fault.forMs / 1000).toFixed(0)} s`
      );
  }
}

/**
 * Makes a fault happen. Resolves when it is over, to what could be seen of it. `isFelt` is true if
 * it had an effect.
 */
export async function happen(
  fault: ReplicaFault,
  { replicas, redis }: Replicas,
): Promise<{ isFelt: boolean; seen: string }> {
  switch (fault.do) {
    case "kill": {
      const { app, slackWay } = replicaOf(replicas, fault.replica);
      const before = app.kills;
      let gone: Promise<void> = Promise.resolve();
      await slackWay.strike(fault.point, STRIKE_WITHIN_MS, () => {
        gone = app.kill(fault.downMs);
      });
      await gone;
      await app.up();
      return { isFelt: app.kills > before, seen: "it is up again" };
    }
    case "pause": {
      const { app, slackWay } = replicaOf(replicas, fault.replica);
      let resumed: Promise<void> = Promise.resolve();
      await slackWay.strike(fault.point, STRIKE_WITHIN_MS, () => {
        resumed = app.pause(fault.forMs);
      });
      const status = await statusOf(app, "/healthz");
      await resumed;
      return { isFelt: status === 0, seen: `while paused, /healthz: ${status || "no answer"}` };
    }
    case "redis-kill":
      await redis.restart(fault.downMs);
      return { isFelt: true, seen: "it is up again" };
    case "redis-tail": {
      const bytes = await redis.loseTail(fault.lastMs, fault.downMs);
      return { isFelt: bytes > 0, seen: `it has lost ${bytes} bytes` };
    }
    case "redis-away": {
      await redis.become(fault.how);
      await sleep(NOTICE_AFTER_MS);
      const statuses = await Promise.all(replicas.map(({ app }) => statusOf(app, "/readyz")));
      await sleep(fault.forMs - NOTICE_AFTER_MS);
      await redis.become("open");
      return {
        isFelt: statuses.every((status) => status === 503),
        seen: `meanwhile /readyz: ${statuses.join(", ")}`,
      };
    }
    case "redis-trouble": {
      const endAtMs = performance.now() + fault.forMs;
      const isRefusing = fault.what === "read-only" || fault.what === "full";
      let statuses: number[] = [];
      while (performance.now() < endAtMs) {
        // A fault that lasts only a moment is repeated.
        if (!isRefusing || statuses.length === 0) await redis.trouble(fault.what, true);
        await sleep(isRefusing ? NOTICE_TROUBLE_AFTER_MS : TROUBLE_EVERY_MS);
        statuses = await Promise.all(replicas.map(({ app }) => statusOf(app, "/readyz")));
      }
      await redis.trouble(fault.what, false);
      return {
        isFelt: !isRefusing || statuses.every((status) => status === 503),
        seen: `meanwhile /readyz: ${statuses.join(", ")}`,
      };
    }
    case "slack-away": {
      const { slackWay } = replicaOf(replicas, fault.replica);
      const blocked = await slackWay.cut(fault.how, fault.forMs);
      return { isFelt: blocked > 0, seen: `${blocked} calls and connections met it` };
    }
  }
}

/** Resolves to the status, or to 0 without an answer. */
async function statusOf(app: RunningApp, path: string): Promise<number> {
  try {
    const answer = await fetch(new URL(path, app.url), { signal: AbortSignal.timeout(3_000) });
    return answer.status;
  } catch {
    return 0;
  }
}

function replicaOf(replicas: readonly Replica[], index: number): Replica {
  const replica = replicas[index];
  if (replica === undefined) throw new Error(`There is no replica ${index + 1}.`);
  return replica;
}
