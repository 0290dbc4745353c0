import type { Registry } from "prom-client";
import { addGauge, type Reading, sharedRead } from "../shared/machine/metrics.ts";
import type { Clock, Logger } from "../shared/machine/ports.ts";
import { addQueueGauges } from "../shared/queue/queue-gauges.ts";
import type { ServiceConfig, ServiceProject } from "./config/config.ts";
import type { SelfHostedJobService } from "./job-service.ts";
import { budgetSpans } from "./jobs/project-budget.ts";
import { OpenPullState } from "./jobs/standing-store.ts";
import { mayRun, runnerState } from "./runners/runner-rules.ts";

/** Pull requests don't change faster, and what a month cost is in many turns. */
const SELDOM_MS = 60_000;

type ServiceGaugesDeps = Pick<SelfHostedJobService, "store" | "queue" | "runners"> & {
  config: Pick<ServiceConfig, "jobsAtOnce" | "labels">;
  projects: readonly ServiceProject[];
  /** The service's own. */
  runner: { readonly isOpen: boolean };
  clock: Clock;
  logger: Logger;
};

/**
 * Adds what is read when somebody looks: how many turns and pull requests there are, and what they
 * cost.
 */
export function addServiceGauges(registry: Registry, deps: ServiceGaugesDeps): void {
  const { store, queue, projects, clock } = deps;
  const add: AddGauge = (name, help, labelNames, read) =>
    addGauge(registry, { name: `docs_agent_service_${name}`, help, labelNames, read }, deps);
  addQueueGauges(registry, { ...deps, check: () => queue.check() });
  addRunnerGauges(add, deps);

  const turns = sharedRead(clock, () => store.standing.unfinishedTurns());
  const turnStates = ["waiting", "running", "held"] as const;
  const turnsIn = inStates(projects, turnStates, turns);
  add("turns", "Unfinished turns.", ["project", "state"], () => turnsIn(({ count }) => count));
  const ageS = ({ oldestAt }: { oldestAt: number }) => Math.max(0, clock.now() - oldestAt) / 1000;
  add("oldest_turn_seconds", "Age of the oldest unfinished turn, or 0.", ["project", "state"], () =>
    turnsIn(ageS),
  );

  const pulls = sharedRead(clock, () => store.standing.openPulls(), SELDOM_MS);
  const pullsIn = inStates(projects, OpenPullState.options, pulls);
  add("pull_requests", "Open pull requests.", ["project", "state"], () => pullsIn(({ count }) => count));
  add("oldest_pull_request_seconds", "Age of the oldest open pull request, or 0.", ["project", "state"], () =>
    pullsIn(ageS),
  );

  // Summing up a month's turns takes long, so it is done only where a budget asks for it anyway.
  const spent = sharedRead(
    clock,
    () =>
      projects.flatMap((project) =>
        budgetSpans(project, clock.now()).flatMap(({ span, limitUsd, fromMs }) => {
          if (limitUsd === undefined) return [];
          const labels = { project: project.id, span };
          return [{ labels, limitUsd, spentUsd: store.spending.spentSince(project.id, fromMs) }];
        }),
      ),
    SELDOM_MS,
  );
  add("spent_usd", "What a budget's day or month (UTC) has cost so far.", ["project", "span"], async () =>
    (await spent()).map(({ labels, spentUsd: value }) => ({ labels, value })),
  );
  add("budget_usd", "What it may cost.", ["project", "span"], async () =>
    (await spent()).map(({ labels, limitUsd: value }) => ({ labels, value })),
  );
}

type AddGauge = (
  name: string,
  help: string,
  labelNames: string[],
  read: () => Promise<Reading[]> | Reading[],
) => void;

/** Adds what there is that could run turns. */
function addRunnerGauges(
  add: AddGauge,
  { runners, runner, config, projects, clock }: ServiceGaugesDeps,
): void {
  const hasOwn = config.jobsAtOnce > 0;
  add("runner_up", "1 while the service's own runner is there, otherwise 0.", [], () =>
    hasOwn ? [{ value: runner.isOpen ? 1 : 0 }] : [],
  );
  const elsewhere = sharedRead(clock, () =>
    runners.all().map((row) => ({ ...row, state: runnerState(row, clock.now()) })),
  );
  add("runners", "Runners elsewhere, by how they stand.", ["state"], async () => {
    const rows = await elsewhere();
    return (["ready", "draining", "away"] as const).map((state) => ({
      labels: { state },
      value: rows.filter((row) => row.state === state).length,
    }));
  });
  const ready = async () => (await elsewhere()).filter(({ state }) => state === "ready");
  add("runner_free_places", "Turns that ready runners elsewhere could take at once.", [], async () => [
    { value: (await ready()).reduce((sum, { free }) => sum + (free ?? 0), 0) },
  ]);
  add(
    "project_runners",
    "Runners that take the project's turns, the service's own, too.",
    ["project"],
    async () => {
      const own = hasOwn && runner.isOpen ? [{ projects: null, labels: config.labels }] : [];
      const all = [...own, ...(await ready())];
      return projects.map((project) => ({
        labels: { project: project.id },
        value: all.filter((each) => mayRun(each, project)).length,
      }));
    },
  );
}

type Standing<State> = { projectId: string; state: State; count: number; oldestAt: number };

/** Readings for each project in the settings and each state, 0 where there is nothing. */
function inStates<State extends string>(
  projects: readonly ServiceProject[],
  states: readonly State[],
  read: () => Promise<Standing<State>[]>,
): (valueOf: (row: Standing<State>) => number) => Promise<Reading[]> {
  return async (valueOf) => {
    const rows = await read();
    return projects.flatMap(({ id: project }) =>
      states.map((state) => {
        const row = rows.find((each) => each.projectId === project && each.state === state);
        return { labels: { project, state }, value: row === undefined ? 0 : valueOf(row) };
      }),
    );
  };
}
