import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import { createRedact, learnedSecrets, secretForms } from "../../base/redaction.ts";
import type { ServiceProject } from "../../config/config.ts";
import { type Env, projectSecrets } from "../../config/env.ts";
import { CodeHostTokens } from "../../pulls/code-host/code-host-tokens.ts";
import { createGitHubCodeHost } from "../../pulls/code-host/github-code-host.ts";
import { createGitHubCommits } from "../../pulls/code-host/github-commits.ts";
import { createGitHubReviews } from "../../pulls/code-host/github-reviews.ts";
import type { Lent } from "../runner.ts";
import type { ReaderProcesses } from "../process/apart/apart.ts";
import type { RunnerFolders } from "../workspace/folders.ts";
import { KeyedLock } from "../workspace/git/keyed-lock.ts";
import { Mirror, type MirroredProject } from "../workspace/git/mirror.ts";

type RepositoriesDeps = { env: Env; clock: Clock; readers: ReaderProcesses };
type For = {
  folders: RunnerFolders;
  logger: Logger;
  signal: AbortSignal;
  lent?: Lent | undefined;
};

/** Gives access to the repositories of projects, and to their code hosts. */
export class ProjectRepositories {
  /** Whoever holds the lock of a mirror's path is alone with it. */
  readonly lock = new KeyedLock();
  readonly #deps: RepositoriesDeps;
  readonly #tokens: CodeHostTokens;

  constructor(deps: RepositoriesDeps) {
    this.#deps = deps;
    this.#tokens = new CodeHostTokens(deps);
  }

  /** What is needed to access a project's repositories. Opens nothing yet. */
  of(project: ServiceProject, { folders, logger, signal, lent }: For) {
    const { clock, readers } = this.#deps;
    const env = { ...this.#deps.env, ...lent?.env };
    const tokens = lent?.tokens ?? this.#tokens;
    const secrets = projectSecrets(project, env);
    const redact = createRedact(secrets);
    const forms = secretForms(secrets);
    const apart = readers.forTurn(project.id, signal, () => [...learnedSecrets(), ...forms]);
    const mirrorOf = (mirrored: MirroredProject) =>
      new Mirror({ project: mirrored, folders, lock: this.lock, env, redact, clock, logger, signal });
    const mirror = mirrorOf({
      ...project,
      branchPrefix: project.pullRequests.branchPrefix,
      gitCredentials: tokens.forGit(project),
    });
    // They belong to this project alone, because others may have no right to read them.
    const contextRepositories = project.context.map((each) => {
      const { name, repository, gitCredentialsEnv } = each;
      const gitCredentials = tokens.in(gitCredentialsEnv);
      const id = `${project.id} context ${name}`;
      return { ...each, mirror: mirrorOf({ id, repository, gitCredentials, branchPrefix: "" }) };
    });
    const host = project.codeHost;
    const hosted = host.kind === "github" ? { ...host, tokens: tokens.of(host), clock, redact } : null;
    const codeHost = hosted && createGitHubCodeHost({ ...hosted, fork: project.fork });
    const commitHost = hosted !== null && project.commits.by === "api" ? createGitHubCommits(hosted) : null;
    const reviewHost = hosted && createGitHubReviews(hosted);
    return { redact, apart, mirror, contextRepositories, codeHost, commitHost, reviewHost, hosted };
  }
}
