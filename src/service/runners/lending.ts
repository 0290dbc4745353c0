import { messageOf } from "../../shared/errors.ts";
import type { Clock, Logger } from "../../shared/machine/ports.ts";
import { createRedact } from "../base/redaction.ts";
import type { ServiceProject } from "../config/config.ts";
import { type Env, projectSecrets } from "../config/env.ts";
import { needsOf } from "../config/needs.ts";
import { CodeHostTokens } from "../pulls/code-host/code-host-tokens.ts";
import { CommitIdentities, type CommitIdentity } from "../pulls/code-host/commit-identities.ts";
import { LEASE_MS, PROTOCOL } from "../runner/protocol.ts";
import { TransientRunError } from "../base/run-error.ts";
import { pagesOf } from "../config/repository.ts";
import type { Runner, RunnerReport, RunTurnResult } from "../runner/runner.ts";
import type { Lend } from "./caller.ts";
import type { RunnerDesk } from "./desk.ts";
import type { ModelDoor } from "./models/model-door.ts";
import type { RunnerRow } from "./runner-row.ts";

export type LendingDeps = {
  projects: ReadonlyMap<string, ServiceProject>;
  door: ModelDoor;
  version: string;
  /** Holds the tokens and keys that the settings name. */
  env: Env;
  clock: Clock;
  logger: Logger;
};

/**
 * Lends runners elsewhere what only the service has: the token of an App for one repository, whose
 * commits these are, and the way to the models. Each is for a piece of work, as long as that is
 * leased.
 */
export class Lending {
  readonly #deps: LendingDeps;
  readonly #tokens: CodeHostTokens;
  readonly #identities = new CommitIdentities();

  constructor(deps: LendingDeps) {
    this.#deps = deps;
    this.#tokens = new CodeHostTokens(deps);
  }

  /** What a runner may ask for. `deskOf` is the desk that has a piece of work. */
  to({ projects: allowed }: RunnerRow, deskOf: (workId: string) => RunnerDesk | null): Lend {
    const { projects, door, version } = this.#deps;
    const projectOf = (workId: string) => deskOf(workId)?.projectOf(workId) ?? null;
    return {
      about: () => ({
        version,
        protocol: PROTOCOL,
        leaseMs: LEASE_MS,
        projects: [...projects.values()]
          .filter(({ id }) => allowed === null || allowed.includes(id))
          .map((project) => ({ id: project.id, labels: project.runners.labels, needs: needsOf(project) })),
      }),
      repositoryToken: async (workId, refused, signal) => {
        const host = projectOf(workId)?.codeHost;
        // A fixed token is for all that its user may do, so it isn't given away.
        if (host?.kind !== "github" || host.app === undefined) return null;
        const provider = this.#tokens.of(host);
        if (refused !== null) provider.drop(refused);
        return await provider.token(signal);
      },
      identity: (workId, signal) => this.#identityOf(projectOf(workId), signal),
      callModel: (workId, request) => door.pass(workId, request),
    };
  }

  /** A runner whose work calls models through the service, which counts what that uses. */
  runnerAt(desk: RunnerDesk): Runner {
    const { door, logger } = this.#deps;
    return {
      readDiff: desk.readDiff,
      closePull: desk.closePull,
      upkeep: desk.upkeep,
      run: async (input) => {
        const { project, usedBefore, lease } = input;
        if (project.models.length === 0) return checked(project, await desk.run(input));
        door.open(lease.id, {
          project,
          usedBefore,
          onUsage: (usage) => input.report({ usage }),
          onExceeded: (reason) => logger.info({ work: lease.id, reason }, "the turn may call no more models"),
        });
        try {
          const result = await desk.run({ ...input, report: (report) => input.report(withoutUsage(report)) });
          return checked(project, result);
        } finally {
          const usage = await door.close(lease.id);
          if (usage !== null) input.report({ usage });
        }
      },
    };
  }

  async #identityOf(project: ServiceProject | null, signal: AbortSignal): Promise<CommitIdentity> {
    if (project === null) throw new Error("The work has no project");
    const { env, clock, logger } = this.#deps;
    const { codeHost: host } = project;
    const redact = createRedact(projectSecrets(project, env));
    const hosted = host.kind === "github" ? { ...host, tokens: this.#tokens.of(host), clock, redact } : null;
    try {
      return await this.#identities.of(project, hosted, signal);
    } catch (thrown) {
      logger.warn(
        { project: project.id, problem: messageOf(thrown) },
        "a turn's author can't be found out now",
      );
      throw thrown;
    }
  }
}

/** What counts is what was counted here. */
function withoutUsage(report: RunnerReport): RunnerReport {
  const kept = { ...report };
  delete kept.usage;
  return kept;
}

/** The result, if its link leads to the project's code host: people will follow it. */
function checked({ codeHost }: ServiceProject, result: RunTurnResult): RunTurnResult {
  if (result.kind !== "pull-request" || codeHost.kind === "none") return result;
  if (URL.parse(result.prLink)?.origin === new URL(pagesOf(codeHost.apiUrl)).origin) return result;
  const details = ["The runner sent a link that doesn't lead to the project's code host."];
  throw new TransientRunError("The turn broke off.", { details });
}
