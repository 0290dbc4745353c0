import type { Clock } from "../../src/core/ports/clock.ts";
import { createRedact } from "../base/redaction.ts";
import { CodeHostTokens } from "../code-host/code-host-tokens.ts";
import type { FollowedHost } from "../code-host/followed-pull.ts";
import { createGitHubFollowedHost } from "../code-host/github-followed-host.ts";
import type { ServiceProject } from "../config/config.ts";
import { type Env, envValue } from "../config/env.ts";
import { projectSecrets } from "../config/project-secrets.ts";
import { CallBudget } from "./call-budget.ts";

/** A repository of a code host, with the projects that ask for it with the same token. */
export type FollowedRepository = {
  /** Its API and its name, and what names the token. */
  key: string;
  /** As the code host has it, `owner/repo`, in lower case. */
  fullName: string;
  projectIds: string[];
  pollMs: number;
  host: FollowedHost;
  budget: CallBudget;
};

/** The repositories of all projects that have a code host. */
export function repositoriesOf(
  projects: Iterable<ServiceProject>,
  { env, clock }: { env: Env; clock: Clock },
): FollowedRepository[] {
  const found = new Map<string, FollowedRepository>();
  const tokens = new CodeHostTokens({ env, clock });
  /** Repositories share what a token may use. */
  const budgets = new Map<string, CallBudget>();
  for (const project of projects) {
    const { id, codeHost } = project;
    if (codeHost.kind !== "github") continue;
    const { apiUrl, owner, repo, app, tokenEnv = "", pollSeconds } = codeHost;
    const pollMs = pollSeconds * 1000;
    const named = app === undefined ? tokenEnv : `${app.id}/${app.installationId}`;
    const key = `${apiUrl.replace(/\/+$/, "")}/${owner}/${repo} `.toLowerCase() + named;
    const known = found.get(key);
    if (known !== undefined) {
      known.projectIds.push(id);
      known.pollMs = Math.min(known.pollMs, pollMs);
      continue;
    }
    const token = JSON.stringify([apiUrl, app === undefined ? envValue(env, tokenEnv) : named]);
    const budget = budgets.get(token) ?? new CallBudget(clock);
    budgets.set(token, budget);
    const host = createGitHubFollowedHost({
      ...codeHost,
      tokens: tokens.of(codeHost),
      clock,
      redact: createRedact(projectSecrets(project, env)),
      onAnswer: (status, headers) => budget.note(status, headers),
    });
    const fullName = `${owner}/${repo}`.toLowerCase();
    found.set(key, { key, fullName, projectIds: [id], pollMs, host, budget });
  }
  return [...found.values()];
}
