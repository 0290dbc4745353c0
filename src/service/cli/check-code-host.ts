import { stat } from "node:fs/promises";
import { z } from "zod";
import { StartError } from "../../shared/errors.ts";
import { operatorText, RunError } from "../base/run-error.ts";
import { GitHubApi, type GitHubOptions } from "../pulls/code-host/github-api.ts";
import { askAsApp, type InstalledApp, PERMISSIONS, readAppKey } from "../pulls/code-host/github-app.ts";
import { createGitHubCodeHost } from "../pulls/code-host/github-code-host.ts";
import type { GitHubSettings } from "../config/config.ts";
import type { Fork } from "../config/repository.ts";
import { commandOf } from "../../shared/machine/this-copy.ts";

const NO_BRANCH_YET = "docs-agent/check";
const USE_AN_APP = `Use a GitHub App: ${commandOf("service", "github-app")}`;

/** What was found. `warning` is about something that works but isn't good, or null. */
export type Found = { found: string; warning: string | null };

const Installation = z.object({ permissions: z.record(z.string(), z.string()) });
const Repository = z.object({ private: z.boolean() });
const Origin = z.object({ full_name: z.string() }).nullish();
/** A fork of a fork names both. */
const Forked = z.object({ parent: Origin, source: Origin });

/**
 * Asks the code host whether pull requests can be opened and followed. Rejects with everything that
 * is missing.
 */
export async function checkCodeHost(
  codeHost: GitHubSettings,
  options: GitHubOptions & { fork: Fork | null; wantsPreviews: boolean },
  signal: AbortSignal,
): Promise<Found> {
  const { owner, repo, app } = codeHost;
  if (options.fork !== null) await checkFork(options.fork, options, signal);
  const warning = app === undefined ? null : await checkInstallation(codeHost, app, options, signal);
  await createGitHubCodeHost(options).find(NO_BRANCH_YET, signal);
  const found = `${owner}/${repo}`;
  return app === undefined
    ? { found, warning: await tokenWarning(codeHost, options, signal) }
    : { found: `${found}, as App ${app.id}`, warning };
}

/** Pull requests can only come from a repository that is a fork of the other. */
async function checkFork(fork: Fork, options: GitHubOptions, signal: AbortSignal): Promise<void> {
  const { owner, repo } = fork;
  const asked = { doing: "Reading the fork", signal, schema: Forked };
  const { parent, source } = await new GitHubApi(options).ask(asked, "GET /repos/{owner}/{repo}", {
    owner,
    repo,
  });
  const named = `${options.owner}/${options.repo}`;
  const origins = [parent, source].flatMap((each) => each?.full_name.toLowerCase() ?? []);
  if (origins.includes(named.toLowerCase())) return;
  throw new StartError(
    `${owner}/${repo} isn't a fork of ${named}. Fork that, or correct pullRequests.fork and codeHost.`,
  );
}

/** Checks that the App's key can be read, and warns if everybody can read it. */
export async function checkAppKey({ keyFile }: InstalledApp): Promise<Found> {
  await readAppKey(keyFile);
  const isOpen = ((await stat(keyFile)).mode & 0o004) !== 0;
  const warning = `Everybody on this machine can read ${keyFile}. Run chmod 600 on it.`;
  return { found: keyFile, warning: isOpen ? warning : null };
}

/** Resolves to a warning, or null. Rejects with everything that is missing. */
async function checkInstallation(
  { apiUrl }: GitHubSettings,
  app: InstalledApp,
  { tokens, clock, wantsPreviews }: Pick<GitHubOptions, "tokens" | "clock"> & { wantsPreviews: boolean },
  signal: AbortSignal,
): Promise<string | null> {
  const asked = { doing: "Reading the App's installation", signal, schema: Installation };
  const { permissions } = await askAsApp(
    { ...app, apiUrl, clock },
    asked,
    "GET /app/installations/{installation_id}",
    { installation_id: app.installationId },
  );
  const missing = Object.entries(PERMISSIONS)
    .filter(([name, want]) => ![want, "write", "admin"].includes(permissions[name] ?? ""))
    .map(([name, want]) => `${name}: ${want}`);
  const faults: string[] = [];
  if (missing.length > 0) {
    faults.push(
      `App ${app.id} lacks permissions: ${missing.join(", ")}. Add them in the App's settings, and ` +
        "accept them in its installation.",
    );
  }
  // This fails, for example, if the repository isn't part of the installation. It is tried in any
  // case, so that the operator sees all faults at once.
  await tokens.token(signal).catch((error: unknown) => {
    if (!(error instanceof RunError)) throw error;
    faults.push(operatorText(error));
  });
  if (faults.length > 0) throw new StartError(faults.join(" "));
  if (!wantsPreviews || permissions["deployments"] !== undefined) return null;
  return (
    `App ${app.id} can't read deployments, so results have no preview. Give it the permission ` +
    "deployments: read, and accept it in its installation, or leave out previewHosts."
  );
}

/** A classic token says what it may do. A fine-grained one only refuses requests. */
async function tokenWarning(
  { tokenEnv = "" }: GitHubSettings,
  options: GitHubOptions,
  signal: AbortSignal,
): Promise<string | null> {
  const asked = { doing: "Reading the token's scopes", signal, schema: Repository };
  const { data, headers } = await new GitHubApi(options).answer(asked, "GET /repos/{owner}/{repo}");
  if ((await options.tokens.token(signal))?.startsWith("github_pat_") === true) {
    const unread = "so the thread says “checks unknown”";
    return `A fine-grained token can't read check runs, ${unread}. ${USE_AN_APP}`;
  }
  const scopes = headers["x-oauth-scopes"];
  if (typeof scopes !== "string") return null;
  const fitting = data.private ? ["repo"] : ["repo", "public_repo"];
  if (scopes.split(",").some((scope) => fitting.includes(scope.trim()))) {
    return `The token in ${tokenEnv} may do whatever its owner may. ${USE_AN_APP}`;
  }
  throw new StartError(`The token in ${tokenEnv} lacks the scope ${fitting.at(-1)}. Add it to the token.`);
}
