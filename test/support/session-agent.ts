import { readdir } from "node:fs/promises";
import type { ServiceProject } from "../../src/service/config/config.ts";
import type { RunTurnResult } from "../../src/service/runner/turn-runner.ts";
import { fixtureAgent, type openRunnerWorld } from "./runner-world.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

/** What the agent of a turn knew when it began. */
type Told = { how: string; prompts: string[]; context: string; request: string };

/** A project whose agent has sessions; `options` as in fixtures/agents/session-agent.mjs. */
export function sessionProject(
  world: World,
  options: Record<string, boolean>,
  ...moreArgs: string[]
): ServiceProject {
  return world.acpProject(fixtureAgent("session-agent.mjs", JSON.stringify(options), ...moreArgs));
}

/** Runs a turn of the job after these. */
export function ask(
  world: World,
  project: ServiceProject,
  prompt: string,
  ...earlier: string[]
): Promise<RunTurnResult> {
  const earlierTurns = earlier.map((before) => ({ prompt: before, summary: `Did: ${before}` }));
  return world.run(project, { prompt, earlierTurns });
}

export async function toldOf(world: World): Promise<Told> {
  return JSON.parse(await world.show("docs/told.md")) as Told;
}

/** The jobs that a session is kept of. */
export function keptJobs(world: World): Promise<string[]> {
  return readdir(world.dir.file("data/sessions"));
}
