import type { Registry } from "prom-client";
import { addCounter, addGauge, addTimes, createRegistry } from "../shared/machine/metrics.ts";
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
  const ended = addCounter(registry, "docs_agent_turns_ended_total", "Turns that have ended, by how.", [
    "outcome",
  ]);
  // A counter that begins with its first turn would hide it from rates.
  for (const outcome of ENDINGS) ended.inc({ outcome }, 0);
  const firstStatus = addTimes(registry, {
    name: "docs_agent_first_status_seconds",
    help: "Time from a request to its status message in Slack.",
    buckets: SECONDS,
  });
  const outcomePosted = addTimes(registry, {
    name: "docs_agent_outcome_posted_seconds",
    help: "Time from when the app knew how a turn ended to its outcome in Slack.",
    buckets: SECONDS,
  });
  const refusals = addCounter(
    registry,
    "docs_agent_slack_refusals_total",
    "Failed calls of Slack's Web API, by method and by Slack's error code.",
    ["method", "error"],
  );
  const retryAfter = addCounter(
    registry,
    "docs_agent_slack_retry_after_seconds_total",
    "Seconds that Slack has asked to wait, over all answers.",
  );
  const seen = new Map<string, true>();
  const errors = new Set<string>();

  function take(what: Measured): void {
    switch (what.kind) {
      case "turn-ended":
        if (!seen.has(what.id)) ended.inc({ outcome: what.ending });
        return keepNewest(seen, what.id, true, ENDED_KEPT);
      case "status-posted":
        return firstStatus(what.afterMs);
      case "outcome-posted":
        return outcomePosted(what.afterMs);
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
