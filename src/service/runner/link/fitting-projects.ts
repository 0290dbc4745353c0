import { accessSync, constants } from "node:fs";
import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import { type Env, envValue } from "../../config/env.ts";
import type { RunnerNeed } from "../../config/needs.ts";
import type { ServiceLink } from "./service-link.ts";

/** How long what the service said is taken for true. */
const ASKED_FOR_MS = 3 * 60_000;

/** True if this machine has what a project needs of it. */
export function isMet({ kind, name }: RunnerNeed, env: Env): boolean {
  if (kind === "variable") return envValue(env, name) !== null;
  try {
    accessSync(name, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** The projects that a runner elsewhere may run and has everything for. */
export class FittingProjects {
  readonly #deps: { link: ServiceLink; env: Env; clock: Clock; logger: Logger };
  #asked: { ids: string[]; untilMs: number } | null = null;
  #told = "";

  constructor(deps: { link: ServiceLink; env: Env; clock: Clock; logger: Logger }) {
    this.#deps = deps;
  }

  /**
   * Resolves to their ids, and asks the service for them every few minutes. Logs what is missing
   * for which project. Rejects as {@link ServiceLink.about} does.
   */
  async ids(): Promise<string[]> {
    const { link, env, clock, logger } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (this.#asked !== null && nowMs < this.#asked.untilMs) return this.#asked.ids;
    const { version, projects } = await link.about();
    const judged = projects.map(({ id, needs }) => ({
      id,
      missing: needs
        .filter((need) => need.isRequired && !isMet(need, env))
        .map(({ name, place }) => `${name} (${place})`),
    }));
    const ids = judged.filter(({ missing }) => missing.length === 0).map(({ id }) => id);
    this.#asked = { ids, untilMs: nowMs + ASKED_FOR_MS };
    const told = JSON.stringify([version, judged]);
    if (told === this.#told) return ids;
    this.#told = told;
    logger.info({ service_version: version, projects: ids }, "the job service answers this runner");
    for (const { id: project, missing } of judged) {
      if (missing.length === 0) continue;
      logger.warn({ project, missing }, "this runner takes no turns of a project: it lacks what that needs");
    }
    return ids;
  }
}
