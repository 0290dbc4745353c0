import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../shared/errors.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { redactedLine } from "../base/printable-text.ts";
import { createRedact } from "../base/redaction.ts";
import { operatorText, TurnFailedError } from "../base/run-error.ts";
import { CodeHostTokens } from "../pulls/code-host/code-host-tokens.ts";
import { CommitIdentities, NOBODY } from "../pulls/code-host/commit-identities.ts";
import { createGitHubCodeHost, type PullRequestHost } from "../pulls/code-host/github-code-host.ts";
import { runsCommand } from "../config/check-settings.ts";
import { type ServiceConfig, type ServiceProject, usesSandbox } from "../config/config.ts";
import { type Env, projectSecrets } from "../config/env.ts";
import { branchInTheWay, jobBranch, refsInTheWay } from "../config/branches.ts";
import { openDataDir, stateFileOf } from "../jobs/state-file.ts";
import { ReaderProcesses } from "../runner/process/apart/apart.ts";
import { type GitRunner, remoteOf } from "../runner/workspace/git/git.ts";
import { BranchInTheWayError } from "../runner/workspace/git/git-fault.ts";
import type { GitCredentials } from "../runner/workspace/git/remote.ts";
import { arePublicDocs, isPublicContext } from "../runner/publish/visibility.ts";
import { openSandbox } from "../runner/workspace/sandbox/open-sandbox.ts";
import { checkAgent, type CheckSandbox } from "./check-agent.ts";
import { addressExample } from "../config/page-address.ts";
import { checkAppKey, checkCodeHost, type Found } from "./check-code-host.ts";
import { checkCommits } from "./check-commits.ts";
import { checkDocs, fetchPaths } from "./check-docs.ts";
import { checkModel } from "./check-model.ts";
import {
  checkProjectRunners,
  checkRunners,
  elsewhereNeeds,
  isAboutRunners,
  runnersElsewhere,
} from "./check-runners.ts";
import { checkTool, CheckTrial } from "./check-tool.ts";
import { doCommand } from "../commands/command-socket.ts";
import { machineWarnings } from "./machine-warnings.ts";
import { emptyCommit, inScratchRepository, type Trying } from "./scratch-repository.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";

/**
 * The result of checking one thing that a turn needs. `fault` says what is wrong and what to do. If
 * `fault` is null, the check passed, and `found` says what was found.
 */
export type Finding = { of: string; what: string; found: string; fault: string | null; isWarning?: boolean };

type Check = {
  of: string;
  what: string;
  run: (signal: AbortSignal) => Promise<string | Found>;
  /** True if it has a time limit of its own. */
  takesLong?: boolean;
};
export type CheckDeps = {
  config: ServiceConfig;
  /** Where the settings are, as a command-line option: `--config <path>`, or empty. */
  configOption: string;
  /** True if models are called, which may cost a few tokens. */
  callModel: boolean;
  /** True if the projects' checks aren't run. */
  skipChecks: boolean;
  /** Called with what takes a while. */
  onProgress: (line: string) => void;
  env: Env;
  clock: Clock;
};

const TIME_LIMIT_MS = 30_000;
const APP_KEY = "app key";
const RUNNERS = "runners";

/**
 * Checks everything that a turn needs, in the order of the settings. Its only side effect is
 * creating `dataDir`.
 */
export async function* checkService(deps: CheckDeps): AsyncGenerator<Finding> {
  const { config } = deps;
  const hasOwn = config.jobsAtOnce > 0;
  await using sandbox = usesSandbox(config) ? await openCheckSandbox(deps) : null;
  const of = "service";
  const ownDataDir = async () => {
    openDataDir(config);
    return config.dataDir;
  };
  const ofService: Check[] = [{ of, what: "dataDir", run: ownDataDir }];
  if (sandbox !== null) ofService.push({ of, what: "sandbox", run: async () => (await sandbox.opened).kind });
  const elsewhere = await runnersElsewhere(config, deps.clock);
  const runners = elsewhere === null ? null : { ...deps, elsewhere };
  if (runners !== null && (!hasOwn || runners.elsewhere.length > 0)) {
    ofService.push({ of, what: RUNNERS, run: async () => checkRunners(runners) });
  }
  yield* findingsOf(ofService, deps);
  for (const each of machineWarnings(config, deps.env)) yield { ...each, of, fault: null, isWarning: true };
  using readers = new ReaderProcesses();
  const identities = new CommitIdentities();
  const shared = { ...deps, sandbox, hasOwn, runners, tokens: new CodeHostTokens(deps), identities };
  for (const project of config.projects) {
    const isTried = hasOwn && !deps.skipChecks && project.verify.length > 0;
    await using trial = isTried ? new CheckTrial(project, { ...shared, readers }) : null;
    yield* findingsOf(projectChecks(project, trial, shared), deps);
  }
}

async function* findingsOf(checks: readonly Check[], { config, env }: CheckDeps): AsyncGenerator<Finding> {
  const redact = createRedact(config.projects.flatMap((project) => projectSecrets(project, env)));
  const running = checks.map(async ({ of, what, run, takesLong = false }): Promise<Finding[]> => {
    const signal = takesLong ? new AbortController().signal : AbortSignal.timeout(TIME_LIMIT_MS);
    try {
      const result = await run(signal);
      const { found, warning } = typeof result === "string" ? { found: result, warning: null } : result;
      const warnings = warning === null ? [] : [{ of, what, found: warning, fault: null, isWarning: true }];
      return [{ of, what, found, fault: null }, ...warnings];
    } catch (error) {
      const fault = signal.aborted
        ? `There was no answer within ${TIME_LIMIT_MS / 1000} s. Check the address and the network.`
        : redactedLine(redact, operatorText(error), 1000);
      return [{ of, what, found: "", fault }];
    }
  });
  let ofAppKey: string | null = null;
  for (const findings of running) {
    for (const finding of await findings) {
      // Everything that needs the App's key fails in the same way without it.
      if (finding.fault === null || finding.fault !== ofAppKey) yield finding;
      if (finding.what === APP_KEY) ofAppKey = finding.fault;
    }
  }
}

/**
 * Opens the sandbox that agents run in, which includes trying it. Disposing of it removes its
 * folder.
 */
async function openCheckSandbox({ env }: CheckDeps): Promise<CheckSandbox & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
  const opened = openSandbox({ containment: "required", folder, env });
  return {
    folder,
    opened,
    async [Symbol.asyncDispose]() {
      await opened.catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What the checks of all projects share, so that the code host is asked for everything once. */
type SharedDeps = CheckDeps & {
  /** Null if nothing is contained. */
  sandbox: CheckSandbox | null;
  /** True if the service has a runner of its own. What only that needs is left out otherwise. */
  hasOwn: boolean;
  /** Null if they aren't known. */
  runners: Parameters<typeof checkRunners>[0] | null;
  tokens: CodeHostTokens;
  identities: CommitIdentities;
};

function projectChecks(project: ServiceProject, trial: CheckTrial | null, shared: SharedDeps): Check[] {
  const { config, configOption, callModel, env, clock, sandbox, hasOwn, runners } = shared;
  const { tokens, identities } = shared;
  const { codeHost, baseBranch, id: of } = project;
  const app = codeHost.kind === "github" ? codeHost.app : undefined;
  const gitCredentials = tokens.forGit(project);
  const redact = createRedact(projectSecrets(project, env));
  const hosted =
    codeHost.kind === "github"
      ? { ...codeHost, tokens: tokens.of(codeHost), clock, redact, fork: project.fork }
      : null;
  const host = hosted && createGitHubCodeHost(hosted);
  const checks: Check[] = [];
  const add = (what: string, run: Check["run"], takesLong = false) =>
    checks.push({ of, what, run, takesLong });
  if (runners !== null && isAboutRunners(project, runners)) {
    add(RUNNERS, async () => checkProjectRunners(project, runners));
    const needs = elsewhereNeeds(project, runners);
    if (needs !== null) add("runners elsewhere", async () => needs);
  }
  if (hasOwn) add("agent", (signal) => checkAgent(project, { sandbox, env, signal }));
  add("model", (signal) => checkModel(project, { calls: callModel, env, signal }));
  if (app !== undefined) add(APP_KEY, () => checkAppKey(app));
  add("repository", async (signal) => {
    await checkRepository(project, { env, redact, signal, gitCredentials });
    const to = project.fork === null ? "" : ` to ${project.fork.owner}/${project.fork.repo}`;
    return `branch ${baseBranch}, and the service may push${to}`;
  });
  const isTried = trial !== null;
  const pages = async (signal: AbortSignal) => {
    if (trial !== null) return checkDocs(project, await trial.paths());
    const asking = { env, redact, signal, gitCredentials };
    const fetch = (git: GitRunner, remote: ReturnType<typeof remoteOf>) =>
      fetchPaths(git, remote, baseBranch);
    // What is wrong with the repository is said of the repository.
    return checkDocs(project, await withGit(project.repository, asking, fetch).catch(() => null));
  };
  add("pages", pages, isTried);
  for (const context of project.context) {
    add(`context ${context.name}`, async (signal) => {
      const gitCredentials = tokens.in(context.gitCredentialsEnv);
      await checkContext(context, { env, redact, signal, gitCredentials });
      return { found: context.ref, warning: await contextWarning(project, context, host, signal) };
    });
  }
  if (codeHost.kind === "github" && hosted !== null) {
    const wantsPreviews = project.previewHosts.length > 0;
    add("code host", (signal) => checkCodeHost(codeHost, { ...hosted, wantsPreviews }, signal));
  }
  const { liveUrl } = project;
  if (liveUrl !== undefined) add("liveUrl", async () => addressExample(liveUrl));
  // A runner elsewhere has the key that signs on its own machine.
  const committing = hasOwn ? project : { codeHost, commits: { ...project.commits, signingKeyFile: null } };
  add("commits", (signal) => checkCommits(committing, hosted, { identities, env, redact, signal }));
  for (const check of hasOwn ? project.verify.filter(runsCommand) : []) {
    const run = async (signal: AbortSignal) => {
      const path = await checkTool(check, project, { sandbox, env, signal });
      return trial === null ? path : trial.run(check, path);
    };
    add(`check ${check.name}`, run, isTried);
  }
  add("admin key", async () => {
    openDataDir(config);
    // Asking for the keys would create the file, and the user who checks the settings may not be
    // the service's user.
    const isThere = existsSync(stateFileOf(config));
    const count = isThere ? (await doCommand(config, clock, { name: "count-keys", project: of })).text : "0";
    if (count !== "0") return count === "1" ? "there is one" : `there are ${count}`;
    throw new StartError(
      `Nobody has a key. Create one: ${commandOf("service", `keys create --project ${of}${configOption}`)}`,
    );
  });
  return checks;
}

type Asking = Trying & { gitCredentials: GitCredentials | null };

/** Asks the git server whether a repository has that branch or tag. Rejects with what is wrong. */
async function checkContext({ repository, ref }: { repository: string; ref: string }, asking: Asking) {
  await withGit(repository, asking, async (git, remote) => {
    const refs = [`refs/heads/${ref}`, `refs/tags/${ref}`];
    if ((await git.text(["ls-remote", "--", remote.url, ...refs], { remote })) !== "") return;
    throw new TurnFailedError(`The repository has no branch or tag ${ref}. Set ref to one it has.`);
  });
}

/** What to know of a private repository that agents read for public docs. Null if it isn't one. */
async function contextWarning(
  project: ServiceProject,
  context: ServiceProject["context"][number],
  codeHost: PullRequestHost | null,
  signal: AbortSignal,
): Promise<string | null> {
  const asking = { codeHost, signal };
  if (!(await arePublicDocs(project, asking)) || (await isPublicContext(project, context, asking))) {
    return null;
  }
  const isAsked =
    context.publish === "ask"
      ? "The requester is asked before words of it are published"
      : "Nobody is asked before words of it are published";
  return `${context.name} isn't known to be public, and the docs are. ${isAsked}. See docs/agents.md.`;
}

/**
 * Asks the git server whether the base branch exists and whether a job's branch could be pushed.
 * Pushes nothing. Rejects with what is wrong, as `Git.run` does.
 */
async function checkRepository(project: ServiceProject, asking: Asking): Promise<void> {
  const { repository, fork, baseBranch, pullRequests } = project;
  await withGit(repository, asking, async (git, own, token) => {
    const ref = `refs/heads/${baseBranch}`;
    const listed = await git.text(["ls-remote", "--", own.url, ref], { remote: own });
    if (listed === "") {
      throw new TurnFailedError(`The repository has no branch ${baseBranch}. Set baseBranch to one it has.`);
    }
    const remote = fork === null ? own : remoteOf(fork.repository, token);
    const branch = jobBranch(pullRequests.branchPrefix, "check");
    const others = await git.text(["ls-remote", "--", remote.url, ...refsInTheWay(branch)], { remote });
    const inTheWay = branchInTheWay(others, branch);
    if (inTheWay !== null) throw new BranchInTheWayError(inTheWay);
    // A commit to push: git only asks the server for permission if there is something to push.
    const commit = await emptyCommit(git, { ...NOBODY, signingKeyFile: null });
    const options = ["--porcelain", "--dry-run"];
    await git.run(["push", ...options, "--", remote.url, `${commit}:refs/heads/${branch}`], { remote });
  });
}

async function withGit<Result>(
  repository: string,
  { gitCredentials, ...trying }: Asking,
  act: (git: GitRunner, remote: ReturnType<typeof remoteOf>, token: string | null) => Promise<Result>,
): Promise<Result> {
  return inScratchRepository(trying, async (git) => {
    const token = (await gitCredentials?.token(trying.signal)) ?? null;
    return act(git, remoteOf(repository, token), token);
  });
}
