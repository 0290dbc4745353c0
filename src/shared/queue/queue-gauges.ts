import type { Registry } from "prom-client";
import { addGauge, sharedRead } from "../machine/metrics.ts";
import type { Clock, Logger } from "../machine/ports.ts";
import type { TaskQueue } from "./task-queue.ts";
import type { Kinds } from "../store/record-types.ts";

type QueueGauges<R extends Kinds> = {
  queue: Pick<TaskQueue<R>, "counts" | "countsByPool">;
  /** Rejects unless the program can keep requests and run tasks. */
  check: () => Promise<unknown>;
  clock: Clock;
  logger: Logger;
};

/** Adds the gauges of a program's task queue. */
export function addQueueGauges<R extends Kinds>(registry: Registry, deps: QueueGauges<R>): void {
  const { queue, check, clock } = deps;
  const isReady = sharedRead(clock, () =>
    check().then(
      () => 1,
      () => 0,
    ),
  );
  addGauge(
    registry,
    {
      name: "docs_agent_ready",
      help: "1 while the program can keep requests and run tasks, otherwise 0.",
      read: async () => [{ value: await isReady() }],
    },
    deps,
  );
  const byPool = sharedRead(clock, () => queue.countsByPool());
  addGauge(
    registry,
    {
      name: "docs_agent_tasks",
      help: "Unfinished tasks, by pool. Replicas on one Redis show the same tasks.",
      labelNames: ["pool", "state"],
      read: async () =>
        Object.entries(await byPool()).flatMap(([pool, { waiting, running }]) => [
          { labels: { pool, state: "waiting" }, value: waiting },
          { labels: { pool, state: "running" }, value: running },
        ]),
    },
    deps,
  );
  const counts = sharedRead(clock, () => queue.counts());
  addGauge(
    registry,
    {
      name: "docs_agent_dead_tasks",
      help: "Tasks that were given up and are kept for the operator.",
      read: async () => [{ value: (await counts()).dead }],
    },
    deps,
  );
}
