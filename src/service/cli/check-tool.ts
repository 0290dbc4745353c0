import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { StartError } from "../../shared/errors.ts";
import type { Clock, Logger } from "../../shared/machine/ports.ts";
import { counted } from "../../shared/text/text.ts";
import { isInside } from "../base/paths.ts";
import { createRedact, learnedSecrets, type Redact, secretForms } from "../base/redaction.ts";
import type { CodeHostTokens } from "../pulls/code-host/code-host-tokens.ts";
import { howItShows, presetOfCheck } from "../config/check-presets.ts";
import type { CommandCheck } from "../config/check-settings.ts";
import type { ServiceProject } from "../config/config.ts";
import { type Env, projectSecrets } from "../config/env.ts";
import type { ReaderProcesses } from "../runner/process/apart/apart.ts";
import { openRunnerFolders, type RunnerFolders } from "../runner/workspace/folders.ts";
import { KeyedLock } from "../runner/workspace/git/keyed-lock.ts";
import { Mirror } from "../runner/workspace/git/mirror.ts";
import { openSandbox } from "../runner/workspace/sandbox/open-sandbox.ts";
import { findProgram } from "../runner/workspace/sandbox/program.ts";
import { type CheckContext, runCheck } from "../runner/turn/steps/run-check.ts";
import { KeptTrees } from "../runner/workspace/tree/kept-trees.ts";
import { type AgentCheck, type CheckSandbox, hiddenInside } from "./check-agent.ts";
import type { Found } from "./check-code-host.ts";
import { pathsIn } from "./check-docs.ts";

/**
 * Checks that a check's tool and its files exist, and that the sandbox shows them to it. Resolves
 * to the program's path.
 */
export async function checkTool(
  check: CommandCheck,
  { agent }: ServiceProject,
  { sandbox, env, signal }: AgentCheck,
): Promise<string> {
  const { command, readable, mounts, cwd } = check;
  const missing = (what: string) => new StartError(`There is no ${what}. ${toMend(check)}`);
  const [name = "", ...args] = command;
  const program = await findProgram(name, env["PATH"] ?? "/usr/bin:/bin");
  if (program === null) throw missing(`program ${name}`);
  for (const path of [...readable, ...mounts.map(({ from }) => from)]) {
    if (!existsSync(path)) throw missing(path);
  }
  for (const arg of args) {
    const file = isAbsolute(arg) ? arg : join("/", cwd, arg);
    const mount = mounts.find(({ at }) => !isAbsolute(arg) && isInside(join("/", at), file));
    const isShown = isAbsolute(arg) && readable.some((folder) => isInside(folder, arg));
    const needed = mount === undefined ? file : join(mount.from, file.slice(join("/", mount.at).length));
    if ((mount !== undefined || isShown) && !existsSync(needed)) throw missing(needed);
  }
  if (sandbox === null && mounts.length > 0) {
    throw new StartError(
      "A check with mounts needs a sandbox. Set containment to required, or remove the mounts.",
    );
  }
  const shown = { command, readable, shown: mounts, limits: agent.limits };
  const hidden = await hiddenInside(shown, [program.path], { sandbox, env, signal });
  if (hidden === undefined) return program.path;
  throw new StartError(`The sandbox doesn't show the check ${hidden}. Add it to its readable.`);
}

function toMend(check: CommandCheck): string {
  const install = presetOfCheck(check)?.install ?? "install it, or correct the check in verify";
  return `To mend that: ${install}.`;
}

type TrialDeps = {
  env: Env;
  clock: Clock;
  /** Null if nothing is contained. */
  sandbox: CheckSandbox | null;
  readers: ReaderProcesses;
  tokens: CodeHostTokens;
  onProgress: (line: string) => void;
};

/** What was fetched of a project's base branch. */
type Copy = { folders: RunnerFolders; mirror: Mirror; commit: string };

/** What is faster needs no word. */
const SILENT_MS = 1000;
const REPEATED_MS = 10_000;
const QUIET: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => QUIET };

/**
 * Runs a project's checks as a turn does, on the newest commit of its base branch, in a temporary
 * folder. They run one after the other. Disposing of it removes what it fetched.
 */
export class CheckTrial {
  readonly #project: ServiceProject;
  readonly #deps: TrialDeps;
  readonly #redact: Redact;
  readonly #signal = new AbortController().signal;
  readonly #leftovers = new Set<Promise<void>>();
  #folder: string | null = null;
  #copy: Promise<Copy | null> | undefined;
  #context: Promise<CheckContext | null> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(project: ServiceProject, deps: TrialDeps) {
    this.#project = project;
    this.#deps = deps;
    this.#redact = createRedact(projectSecrets(project, deps.env));
  }

  /** The files of the base branch, or null if it can't be fetched. */
  async paths(): Promise<string[] | null> {
    const copy = await this.#fetchedOnce();
    return copy && copy.mirror.use((git) => pathsIn(git, copy.commit));
  }

  /**
   * Runs a check, whose program was found at `path`. Rejects with what to do if its tool can't run.
   */
  run(check: CommandCheck, path: string): Promise<string | Found> {
    const ran = this.#last.then(() => this.#run(check, path));
    this.#last = ran.catch(() => {});
    return ran;
  }

  async #run(check: CommandCheck, path: string): Promise<string | Found> {
    const { baseBranch, agent } = this.#project;
    const copy = await this.#fetchedOnce();
    const context = copy && (await (this.#context ??= this.#open(copy)));
    if (copy === null || context === null) return `${path}. Not run: there is no copy of the repository`;
    const { commit } = copy;
    const run = { check, commit, place: "check", limits: agent.limits };
    const output = await this.#announced(`running ${check.name} on ${baseBranch}`, runCheck(run, context));
    if ("why" in output) {
      const said = output.details === undefined ? "" : ` ${output.details}`;
      throw new StartError(`On ${baseBranch}, ${output.why} Correct the check, or raise its limits.${said}`);
    }
    const how = howItShows(check);
    const { hasRun, isBroken, count, words } = await context.apart.read("showRun", { output, how });
    const said = words.length === 0 ? "" : ` It says: ${words.join(" / ")}`;
    if (hasRun && output.code === 0) return `${path}. It found nothing on ${baseBranch}`;
    if (hasRun) return `${path}. ${counted(count, "finding")} on ${baseBranch}.${said}`;
    if (how.isPreset || isBroken) {
      throw new StartError(`It can't run on ${baseBranch}. ${toMend(check)}${said}`);
    }
    const warning =
      `It fails on ${baseBranch} with exit code ${output.code}. If that means that it found something, ` +
      `set findingsAt: [${output.code}].${said}`;
    return { found: path, warning };
  }

  #fetchedOnce(): Promise<Copy | null> {
    return (this.#copy ??= this.#fetch());
  }

  /** Resolves to null if there is nothing to run checks on, which the other checks report. */
  async #fetch(): Promise<Copy | null> {
    const { env, clock, tokens } = this.#deps;
    const project = this.#project;
    const { baseBranch, id } = project;
    this.#folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
    const folders = await openRunnerFolders(this.#folder);
    const gitCredentials = tokens.forGit(project);
    const { branchPrefix } = project.pullRequests;
    const mirror = new Mirror({
      project: { ...project, gitCredentials, branchPrefix },
      folders,
      lock: new KeyedLock(),
      env,
      redact: this.#redact,
      clock,
      logger: QUIET,
      signal: this.#signal,
    });
    const tell = (far: string) => this.#deps.onProgress(`${id}: fetching ${baseBranch}: ${far}`);
    const fetching = mirror.fetchCommit(`refs/heads/${baseBranch}`, tell).catch(() => null);
    const commit = await this.#announced(`fetching ${baseBranch}`, fetching);
    return commit === null ? null : { folders, mirror, commit };
  }

  /** What checks run in. Resolves to null if there is no sandbox. */
  async #open({ folders, mirror }: Copy): Promise<CheckContext | null> {
    const { env, clock, readers } = this.#deps;
    const sandbox = await this.#openSandbox(folders.sandbox);
    if (sandbox === null) return null;
    const signal = this.#signal;
    const forms = secretForms(projectSecrets(this.#project, env));
    const apart = readers.forTurn(this.#project.id, signal, () => [...learnedSecrets(), ...forms]);
    const trees = new KeptTrees(folders.trees, clock);
    const afterwards = (act: () => Promise<void>) => void this.#leftovers.add(act());
    return { folders, mirror, trees, sandbox, apart, env, clock, logger: QUIET, signal, afterwards };
  }

  async #openSandbox(folder: string) {
    const { sandbox, env } = this.#deps;
    if (sandbox === null) return openSandbox({ containment: "none", folder, env });
    return sandbox.opened.catch(() => null);
  }

  /** Tells what is being done, if it takes a while. */
  async #announced<T>(doing: string, done: Promise<T>): Promise<T> {
    const sinceMs = performance.now();
    const tell = () => {
      const seconds = Math.round((performance.now() - sinceMs) / 1000);
      this.#deps.onProgress(`${this.#project.id}: ${doing}${seconds < 5 ? "" : ` (${seconds} s so far)`}`);
    };
    const first = setTimeout(tell, SILENT_MS);
    const repeated = setInterval(tell, REPEATED_MS);
    try {
      return await done;
    } finally {
      clearTimeout(first);
      clearInterval(repeated);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#last, this.#copy?.catch(() => {})]);
    await Promise.all(this.#leftovers);
    if (this.#folder !== null) await rm(this.#folder, { recursive: true, force: true });
  }
}
