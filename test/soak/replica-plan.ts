import fc from "fast-check";
import { ask, endings, offers, press, question, reply, review, steer } from "./plan.ts";
import type { RedisTrouble } from "./replica-redis.ts";
import type { AgentAsks, Ask, Plan, Press, Reply, Steer } from "./plan.ts";
import type { Review } from "./reviews.ts";

/**
 * The moment when a replica is struck: at once, or at the `calls`-th post that it sends to Slack
 * from now on.
 */
export type StrikePoint = { at: "now" } | { at: "post"; phase: "before" | "after"; calls: number };

/**
 * A fault of the replicas or of what they need, `waitMs` after the one before it.
 *
 * - `redis-away`: `refuse` cuts connections and refuses new ones. `silent` takes them and passes
 *   nothing on.
 * - `redis-tail`: Redis forgets everything that it wrote and acknowledged in its last second.
 * - `slack-away`: for one replica. With `refuse` there is no connection. With `silent` there is no
 *   answer, and Slack sees nothing. With `deaf` Slack does what it is asked, and the answer is
 *   lost.
 */
export type ReplicaFault = { waitMs: number } & (
  | { do: "kill"; replica: number; point: StrikePoint; downMs: number }
  | { do: "pause"; replica: number; point: StrikePoint; forMs: number }
  | { do: "redis-kill"; downMs: number }
  | { do: "redis-tail"; lastMs: number; downMs: number }
  | { do: "redis-away"; how: "refuse" | "silent"; forMs: number }
  | { do: "redis-trouble"; what: RedisTrouble; forMs: number }
  | { do: "slack-away"; replica: number; how: "refuse" | "silent" | "deaf"; forMs: number }
);

/** An act of a person, a reviewer or an agent, `atMs` after the start. */
export type Deed = { atMs: number } & (Ask | Press | Reply | Steer | Review | AgentAsks);

/** Everything that is drawn for one run. */
export type ReplicaPlan = Pick<Plan, "deadlineMs" | "polls" | "endings" | "offers"> & {
  faults: ReplicaFault[];
  /** The acts of people from the start on, in order. They end a little after the last fault. */
  people: Deed[];
};

/** So many channels that the rate of one doesn't determine the length of a run. */
export const REPLICA_CHANNELS = 60;
/** Longer than a lease (30 s) and the search for leases that are over (every 10 s). */
const PAUSE_MS = 45_000;
const REDIS_AWAY_MS = 60_000;
const TROUBLE_MS = 8_000;
const TROUBLES: readonly RedisTrouble[] = [
  "read-only",
  "full",
  "scripts flushed",
  "connections killed",
  "answers cut in the middle",
];
/** The time for which people go on after the last fault. */
const AFTERWARDS_MS = 15_000;

/** Draws the plan of a run. The same numbers give the same plan. */
export function drawReplicaPlan(seed: number, requests: number, replicas: number): ReplicaPlan {
  const [drawn] = fc.sample(planArbitrary(requests, replicas), { seed, numRuns: 1 });
  if (drawn === undefined) throw new Error("fast-check drew nothing");
  const { asks, presses, replies, steers, reviews, questions, ...plan } = drawn;
  const lastsMs = plan.faults.reduce((sum, fault) => sum + fault.waitMs + durationOf(fault), AFTERWARDS_MS);
  const people = [...asks, ...presses, ...replies, ...steers, ...reviews, ...questions]
    .map(({ part, ...step }) => ({ ...step, atMs: Math.round((part / PARTS) * lastsMs) }))
    .toSorted((a, b) => a.atMs - b.atMs);
  return { ...plan, people };
}

/** Returns the approximate length of a fault. */
function durationOf(fault: ReplicaFault): number {
  return "forMs" in fault ? fault.forMs : fault.downMs;
}

const PARTS = 1_000_000;
/** Drawn evenly. By itself, fast-check would prefer the edges. */
const part = fc.noBias(fc.nat(PARTS));

const strikePoint: fc.Arbitrary<StrikePoint> = fc.oneof(fc.constant({ at: "now" as const }), {
  weight: 4,
  arbitrary: fc.record({
    at: fc.constant("post" as const),
    phase: fc.constantFrom("before" as const, "after" as const),
    calls: fc.integer({ min: 1, max: 10 }),
  }),
});

function faultsArbitrary(replicas: number): fc.Arbitrary<ReplicaFault[]> {
  const waitMs = fc.integer({ min: 8_000, max: 18_000 });
  const replica = fc.nat(replicas - 1);
  return fc
    .tuple(
      fc.record({
        waitMs,
        do: fc.constant("kill" as const),
        replica,
        point: strikePoint,
        downMs: fc.constantFrom(0, 1000, 10_000),
      }),
      fc.record({
        waitMs,
        do: fc.constant("pause" as const),
        replica,
        point: strikePoint,
        forMs: fc.constant(PAUSE_MS),
      }),
      fc.record({ waitMs, do: fc.constant("redis-kill" as const), downMs: fc.constantFrom(0, 500, 4000) }),
      // Slack's limits count in seconds, so Redis is away for longer than the time that it forgets.
      fc.record({
        waitMs,
        do: fc.constant("redis-tail" as const),
        lastMs: fc.constant(1_000),
        downMs: fc.constantFrom(1_500, 4_000),
      }),
      fc.record({
        waitMs,
        do: fc.constant("redis-away" as const),
        how: fc.constantFrom("refuse" as const, "silent" as const),
        forMs: fc.constant(REDIS_AWAY_MS),
      }),
      ...TROUBLES.map((what) =>
        fc.record({
          waitMs,
          do: fc.constant("redis-trouble" as const),
          what: fc.constant(what),
          forMs: fc.constant(TROUBLE_MS),
        }),
      ),
      fc.record({
        waitMs,
        do: fc.constant("slack-away" as const),
        replica,
        how: fc.constantFrom("refuse" as const, "silent" as const, "deaf" as const),
        forMs: fc.integer({ min: 20_000, max: 40_000 }),
      }),
    )
    .chain((faults) =>
      fc.shuffledSubarray<ReplicaFault>(faults, { minLength: faults.length, maxLength: faults.length }),
    );
}

function planArbitrary(requests: number, replicas: number) {
  const many = <T>(arbitrary: fc.Arbitrary<T>, count: number) =>
    fc.array(arbitrary, { minLength: count, maxLength: count, size: "max" });
  return fc.record({
    deadlineMs: fc.constantFrom(20_000, 120_000),
    polls: fc.constantFrom(1, 2, 4),
    endings,
    offers,
    faults: faultsArbitrary(replicas),
    asks: many(
      fc.record({ ...ask(REPLICA_CHANNELS), channel: fc.noBias(fc.nat(REPLICA_CHANNELS - 1)), part }),
      requests,
    ),
    replies: many(fc.record({ ...reply, part }), Math.round(requests / 10)),
    presses: many(fc.record({ ...press, part }), Math.round(requests / 10)),
    steers: many(fc.record({ ...steer, part }), Math.round(requests / 10)),
    reviews: many(fc.record({ ...review, part }), Math.round(requests / 5)),
    questions: many(fc.record({ ...question, part }), Math.round(requests / 20)),
  });
}
