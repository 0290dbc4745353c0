import { Counter, Histogram, type Registry } from "prom-client";
import { addGauge, createRegistry } from "../shared/machine/metrics.ts";
import type { Clock, Logger } from "../shared/machine/ports.ts";
import { addQueueGauges } from "../shared/queue/queue-gauges.ts";
import { keepNewest } from "../shared/store/keep-newest.ts";
import type { Backend } from "./backend.ts";
import { ENDINGS, type Measure, type Measured } from "./rules/ports/measure.ts";

type AppMetricsDeps = Pick<Backend, "store" | "queue"> & { clock: Clock; logger: Logger };

/**
 * So many of the newest ended watches are remembered, because a decision that ends one may run
 * again.
 */
const ENDED_KEPT = 1_000;
/** More errors than Slack's methods document. What comes after counts as `other`. */
const MAX_ERRORS = 100;
const SECONDS = [0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1_800, 7_200];

/** The Slack app's metrics, and what they are fed with. */
export function createAppMetrics(deps: AppMetricsDeps): { registry: Registry; measure: Measure } {
  const { store, queue } = deps;
  const registry = createRegistry("app");
  const check = () => Promise.all([store.check(), queue.check()]);
  addQueueGauges(registry, { ...deps, check });
  addGauge(
    registry,
    {
      name: "docs_agent_records_set_aside",
      help: "Records that couldn't be read, since the start of the program.",
      read: () => [{ value: store.setAsideCount() }],
    },
    deps,
  );
  return { registry, measure: createMeasure(registry) };
}

function createMeasure(registry: Registry): Measure {
  const registers = [registry];
  const ended = new Counter({
    name: "docs_agent_turns_ended_total",
    help: "Turns that have ended, by how.",
    labelNames: ["outcome"],
    registers,
  });
  // A counter that begins with its first turn would hide it from rates.
  for (const outcome of ENDINGS) ended.inc({ outcome }, 0);
  const firstStatus = new Histogram({
    name: "docs_agent_first_status_seconds",
    help: "Time from a request to its status message in Slack.",
    buckets: SECONDS,
    registers,
  });
  const outcomePosted = new Histogram({
    name: "docs_agent_outcome_posted_seconds",
    help: "Time from when the app knew how a turn ended to its outcome in Slack.",
    buckets: SECONDS,
    registers,
  });
  const refusals = new Counter({
    name: "docs_agent_slack_refusals_total",
    help: "Failed calls of Slack's Web API, by method and by Slack's error code.",
    labelNames: ["method", "error"],
    registers,
  });
  const retryAfter = new Counter({
    name: "docs_agent_slack_retry_after_seconds_total",
    help: "Seconds that Slack has asked to wait, over all answers.",
    registers,
  });
  const seen = new Map<string, true>();
  const errors = new Set<string>();

  function take(what: Measured): void {
    switch (what.kind) {
      case "turn-ended":
        if (!seen.has(what.id)) ended.inc({ outcome: what.ending });
        return keepNewest(seen, what.id, true, ENDED_KEPT);
      case "status-posted":
        return firstStatus.observe(seconds(what.afterMs));
      case "outcome-posted":
        return outcomePosted.observe(seconds(what.afterMs));
      case "slack-refused": {
        const isCode = /^\w{1,60}$/.test(what.error) && (errors.size < MAX_ERRORS || errors.has(what.error));
        if (isCode) errors.add(what.error);
        refusals.inc({ method: what.method, error: isCode ? what.error : "other" });
        return retryAfter.inc(what.retryAfterMs / 1000);
      }
      default:
        return what satisfies never;
    }
  }
  return take;
}

/** The clock may have been set back while the program was off. */
function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}
