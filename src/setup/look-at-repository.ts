import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { createRedact } from "../service/base/redaction.ts";
import { operatorText } from "../service/base/run-error.ts";
import { fetchPaths } from "../service/cli/check-docs.ts";
import { inScratchRepository } from "../service/cli/scratch-repository.ts";
import { CHECK_PRESETS } from "../service/config/check-presets.ts";
import type { ServiceConfig } from "../service/config/config.ts";
import { type Env, projectSecrets } from "../service/config/env.ts";
import { CodeHostTokens } from "../service/pulls/code-host/code-host-tokens.ts";
import { remoteOf } from "../service/runner/workspace/git/git.ts";
import { locate } from "../service/runner/workspace/sandbox/program.ts";
import type { Clock } from "../shared/machine/ports.ts";

const TIME_LIMIT_MS = 60_000;
/** What pages are made with, and the check that builds them. */
const BUILDS: readonly (readonly [check: string, files: RegExp])[] = [
  ["mkdocs", /^mkdocs\.ya?ml$/],
  ["docusaurus", /^docusaurus\.config\.[cm]?[jt]s$/],
  ["mint", /^(?:docs|mint)\.json$/],
  ["vale", /^\.vale\.ini$/],
];
/** They read any Markdown. */
const ALWAYS = ["links", "markdownlint"];

/** What was seen in a repository, or why nothing was. */
export type SeenRepository = { branch: string; paths: readonly string[] | null } | { fault: string };

/** Asks for a repository's default branch, and lists its files. */
export async function lookAtRepository(
  { projects: [project] }: Pick<ServiceConfig, "projects">,
  { env, clock }: { env: Env; clock: Clock },
): Promise<SeenRepository> {
  if (project === undefined) return { fault: "There is no project." };
  const signal = AbortSignal.timeout(TIME_LIMIT_MS);
  const redact = createRedact(projectSecrets(project, env));
  try {
    const token = (await new CodeHostTokens({ env, clock }).forGit(project)?.token(signal)) ?? null;
    return await inScratchRepository({ env, redact, signal }, async (git) => {
      const remote = remoteOf(project.repository, token);
      const head = await git.text(["ls-remote", "--symref", "--", remote.url, "HEAD"], { remote });
      const branch = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(head)?.[1];
      if (branch === undefined) return { fault: "It has no default branch. Push one to it." };
      return { branch, paths: await fetchPaths(git, remote, branch) };
    });
  } catch (error) {
    return { fault: redact(operatorText(error)) };
  }
}

/** The check presets that fit a repository: those whose tools are here, and the others. */
export async function fittingChecks(
  paths: readonly string[],
  searchPath: string,
): Promise<{ usable: string[]; others: string[] }> {
  const builds = BUILDS.filter(([, files]) => paths.some((path) => files.test(path)));
  const fitting = [...ALWAYS, ...builds.map(([check]) => check)];
  const usable: string[] = [];
  for (const name of fitting) if (await isInstalled(name, searchPath)) usable.push(name);
  return { usable, others: fitting.filter((name) => !usable.includes(name)) };
}

async function isInstalled(name: string, searchPath: string): Promise<boolean> {
  const settings = CHECK_PRESETS.get(name)?.settings;
  if (settings === undefined) return false;
  const [program = "", ...args] = settings.command;
  const needed = [
    ...args.filter((arg) => isAbsolute(arg) && !arg.startsWith("/tmp/")),
    ...(settings.readable ?? []),
  ];
  needed.push(...(settings.mounts ?? []).map(({ from }) => from));
  return needed.every((path) => existsSync(path)) && (await locate(program, searchPath)) !== null;
}
