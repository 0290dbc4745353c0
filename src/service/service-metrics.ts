import type { Registry } from "prom-client";
import { countFindings } from "../shared/contract/checks.ts";
import { TurnOutcome } from "../shared/contract/turn.ts";
import { addCounter, addTimes, createRegistry } from "../shared/machine/metrics.ts";
import type { ServiceMeasure, ServiceMeasured } from "./base/service-measure.ts";

const WAIT_SECONDS = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];
const TURN_SECONDS = [15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200];

/**
 * The job service's metrics of what happens, and what they are fed with. `projects` are the ids of
 * the projects in the settings.
 */
export function createServiceMetrics(projects: readonly string[]): {
  registry: Registry;
  measure: ServiceMeasure;
} {
  const registry = createRegistry("service");
  const counter = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    addCounter<"project" | Label>(registry, name, help, ["project", ...labels]);
  const waited = addTimes(registry, {
    name: "docs_agent_service_turn_wait_seconds",
    help: "Time from when a turn was accepted to its first start.",
    buckets: WAIT_SECONDS,
  });
  const took = addTimes(registry, {
    name: "docs_agent_service_turn_seconds",
    help: "Time from a turn's first start to its end.",
    buckets: TURN_SECONDS,
  });
  const ended = counter("docs_agent_service_turns_ended_total", "Turns that have ended, by how.", [
    "outcome",
  ]);
  const starts = counter(
    "docs_agent_service_agent_starts_total",
    "Starts of agents, repeated ones, too.",
    [],
  );
  const cost = counter("docs_agent_service_cost_usd_total", "What models cost, in US dollars.", []);
  const tokens = counter("docs_agent_service_tokens_total", "Tokens that models read and wrote.", [
    "direction",
  ]);
  const checks = counter("docs_agent_service_checks_total", "Checks of changes, by what came of them.", [
    "check",
    "result",
  ]);
  const findings = counter("docs_agent_service_check_findings_total", "New findings of checks.", ["check"]);
  const pulls = counter("docs_agent_service_pull_requests_ended_total", "Pull requests that ended, by how.", [
    "state",
  ]);
  // A counter that begins with the first of its kind would hide it from rates.
  for (const project of projects) {
    for (const outcome of TurnOutcome.exclude(["archived"]).options) ended.inc({ project, outcome }, 0);
    for (const state of ["merged", "closed"]) pulls.inc({ project, state }, 0);
    for (const direction of ["input", "output"]) tokens.inc({ project, direction }, 0);
    starts.inc({ project }, 0);
    cost.inc({ project }, 0);
  }

  function measure(what: ServiceMeasured): void {
    const { project } = what;
    switch (what.kind) {
      case "turn-starts":
        return waited(what.waitedMs);
      case "agent-starts":
        return starts.inc({ project });
      case "used":
        cost.inc({ project }, what.usage.costUsd ?? 0);
        tokens.inc({ project, direction: "input" }, what.usage.inputTokens ?? 0);
        return tokens.inc({ project, direction: "output" }, what.usage.outputTokens ?? 0);
      case "turn-ended":
        ended.inc({ project, outcome: what.outcome });
        if (what.tookMs !== null) took(what.tookMs);
        for (const { name: check, result, findings: lines } of what.checks) {
          checks.inc({ project, check, result });
          findings.inc({ project, check }, result === "failed" ? countFindings(lines) : 0);
        }
        return;
      case "pull-request-ended":
        return pulls.inc({ project, state: what.state });
      default:
        return what satisfies never;
    }
  }
  return { registry, measure };
}
