import { existsSync } from "node:fs";
import { StartError } from "../../shared/errors.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";
import { counted } from "../../shared/text/text.ts";
import { doCommand } from "../commands/command-socket.ts";
import { RunnerList } from "../commands/runners-text.ts";
import type { ServiceConfig, ServiceProject } from "../config/config.ts";
import { needsOf } from "../config/needs.ts";
import { stateFileOf } from "../jobs/state-file.ts";
import { mayRun } from "../runners/runner-rules.ts";
import type { Found } from "./check-code-host.ts";

type Elsewhere = Pick<RunnerList["runners"][number], "name" | "state" | "projects" | "labels" | "seenAt">;
type Given = { config: ServiceConfig; configOption: string; elsewhere: readonly Elsewhere[] };

const OWN = "the service's own";

/**
 * The runners elsewhere that aren't revoked. Null if they can't be read, for a reason that stops
 * other checks, too.
 */
export async function runnersElsewhere(config: ServiceConfig, clock: Clock): Promise<Elsewhere[] | null> {
  // As with keys: asking would create the file, which may be for another user.
  if (!existsSync(stateFileOf(config))) return [];
  try {
    const { text } = await doCommand(config, clock, { name: "list-runners", asJson: true });
    return RunnerList.parse(JSON.parse(text)).runners.filter(({ state }) => state !== "revoked");
  } catch (thrown) {
    if (thrown instanceof StartError) return null;
    throw thrown;
  }
}

/** Says who runs turns. Throws a {@link StartError} if nobody does. */
export function checkRunners({ config, configOption, elsewhere }: Given): string {
  const { jobsAtOnce } = config;
  if (jobsAtOnce === 0 && elsewhere.length === 0) {
    const add = commandOf("service", `runners add <name> --all-projects${configOption}`);
    throw new StartError(
      `Nobody runs turns: jobsAtOnce is 0, and there is no runner elsewhere. Add one: ${add}`,
    );
  }
  const own = jobsAtOnce === 0 ? [] : [`${OWN} (${counted(jobsAtOnce, "turn")} at once)`];
  return [...own, ...elsewhere.map(named)].join(", ");
}

/** True if who runs a project's turns isn't clear without a word. False if nobody runs any. */
export function isAboutRunners({ runners }: ServiceProject, { config, elsewhere }: Given): boolean {
  return elsewhere.length > 0 || (runners.labels.length > 0 && config.jobsAtOnce > 0);
}

/** Says who runs a project's turns. Throws a {@link StartError} if nobody may. */
export function checkProjectRunners(
  project: ServiceProject,
  { config, configOption, elsewhere }: Given,
): Found {
  const { id } = project;
  const { labels } = project.runners;
  const own = { projects: null, labels: config.labels };
  const isOwn = config.jobsAtOnce > 0 && mayRun(own, project);
  const fitting = elsewhere.filter((runner) => mayRun(runner, project));
  if (isOwn || fitting.length > 0) {
    const isWaiting = !isOwn && fitting.every(({ state }) => state !== "ready");
    const warning = "None of these runners takes turns now, so they wait. Start or resume one: see runners.";
    return {
      found: [...(isOwn ? [OWN] : []), ...fitting.map(named)].join(", "),
      warning: isWaiting ? warning : null,
    };
  }
  const isAllowed = config.jobsAtOnce > 0 || elsewhere.some((runner) => isAllowedFor(runner, project));
  if (isAllowed) {
    throw new StartError(
      `No runner that may run this project has all the labels ${labels.join(", ")}. Start one that has ` +
        "them, or correct runners.labels.",
    );
  }
  const add = commandOf("service", `runners add <name> --project ${id}${configOption}`);
  throw new StartError(`No runner may run this project. Add one: ${add}`);
}

/**
 * What runners elsewhere must have themselves for a project, in one line. Null if there is nothing,
 * or no such runner.
 */
export function elsewhereNeeds(project: ServiceProject, { elsewhere }: Given): string | null {
  if (!elsewhere.some((runner) => isAllowedFor(runner, project))) return null;
  const needs = needsOf(project).map(({ name, place }) => `${name} (${place})`);
  return needs.length === 0 ? null : `Each needs on its own machine: ${needs.join(", ")}`;
}

function isAllowedFor(runner: Elsewhere, project: ServiceProject): boolean {
  return mayRun(runner, { ...project, runners: { labels: [] } });
}

function named({ name, state, seenAt }: Elsewhere): string {
  if (state === "ready") return name;
  return `${name} (${seenAt === null ? "never seen" : state})`;
}
