import { readdir } from "node:fs/promises";
import type { ServiceProject } from "../../src/service/config/config.ts";
import type { RunTurnResult } from "../../src/service/runner/runner.ts";
import { fixtureAgent, type openRunnerWorld } from "./runner-world.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

/** Everything that a turn's agent knew when it began. */
type Told = { how: string; prompts: string[]; context: string; request: string };

/**
 * Makes a project whose agent has sessions. `options` are as in fixtures/agents/session-agent.mjs.
 */
export function sessionProject(
  world: World,
  options: Record<string, boolean>,
  ...moreArgs: string[]
): ServiceProject {
  return world.acpProject(fixtureAgent("session-agent.mjs", JSON.stringify(options), ...moreArgs));
}

/** Runs a turn of a job, after turns with the earlier prompts. */
export function ask(
  world: World,
  project: ServiceProject,
  prompt: string,
  ...earlier: string[]
): Promise<RunTurnResult> {
  const earlierTurns = earlier.map((before) => ({ prompt: before, summary: `Did: ${before}` }));
  return world.run(project, { prompt, earlierTurns });
}

/** Resolves to what the agent of the last turn knew. */
export async function toldOf(world: World): Promise<Told> {
  return JSON.parse(await world.show("docs/told.md")) as Told;
}

/** Resolves to the jobs with a stored session. */
export function keptJobs(world: World): Promise<string[]> {
  return readdir(world.dir.file("data/sessions"));
}
