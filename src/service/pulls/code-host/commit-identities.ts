import { z } from "zod";
import type { ServiceProject } from "../../config/config.ts";
import { noReplyHost } from "../../config/repository.ts";
import { TurnFailedError } from "../../base/run-error.ts";
import { GitHubApi, type GitHubOptions } from "./github-api.ts";
import { askAsApp, type InstalledApp } from "./github-app.ts";

/** Whose commits these are. */
export type CommitIdentity = { name: string; email: string };

/**
 * For commits whose author no code host names. `.invalid` belongs to nobody (RFC 2606), so no host
 * takes them for somebody else's, as it would with a name at its own domain.
 */
export const NOBODY: CommitIdentity = { name: "Docs Agent", email: "docs-agent@noreply.invalid" };

const Slug = z.object({ slug: z.string().regex(/^[\w.-]{1,100}$/) });
const User = z.object({ login: z.string().regex(/^[\w.-]{1,100}(?:\[bot\])?$/), id: z.int().positive() });

type WithCommits = Pick<ServiceProject, "codeHost" | "commits">;

/**
 * Knows the author of each project's commits: by default, the account that the service has at the
 * code host. Keep one for as long as possible, because it asks for each account once.
 */
export class CommitIdentities {
  readonly #known = new Map<string, CommitIdentity>();

  /**
   * The settings' name and email, and otherwise the account's. If the code host refuses to tell,
   * nobody's. Rejects with a `TransientRunError` if asking again may help.
   */
  async of(
    { codeHost, commits }: WithCommits,
    hosted: GitHubOptions | null,
    signal: AbortSignal,
  ): Promise<CommitIdentity> {
    const { name, email } = commits;
    const isGiven = name !== undefined && email !== undefined;
    const isHosted = codeHost.kind === "github" && hosted !== null;
    const found = isGiven || !isHosted ? NOBODY : await this.#account(hosted, codeHost.app, signal);
    return { name: name ?? found.name, email: email ?? found.email };
  }

  async #account(
    hosted: GitHubOptions,
    app: InstalledApp | undefined,
    signal: AbortSignal,
  ): Promise<CommitIdentity> {
    const { apiUrl, owner, repo } = hosted;
    // Another repository may have another token, but an App is the same everywhere.
    const key = JSON.stringify([apiUrl, app?.id ?? `${owner}/${repo}`]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const user = await (
      app === undefined ? askForUser(hosted, signal) : askForBot(hosted, app, signal)
    ).catch((error: unknown) => {
      if (error instanceof TurnFailedError) return null;
      throw error;
    });
    if (user === null) return NOBODY;
    const { id, login } = user;
    const identity = { name: login, email: `${id}+${login}@${noReplyHost(apiUrl)}` };
    this.#known.set(key, identity);
    return identity;
  }
}

/**
 * An App commits as its bot, whose id isn't the App's
 * (https://github.com/actions/create-github-app-token#configure-git-cli-for-an-apps-bot-user).
 */
async function askForBot(hosted: GitHubOptions, app: InstalledApp, signal: AbortSignal) {
  const { apiUrl, clock } = hosted;
  const asked = { doing: "Asking for the App's name", signal, schema: Slug.nullable().catch(null) };
  const named = await askAsApp({ ...app, apiUrl, clock }, asked, "GET /app");
  if (named === null) return null;
  const user = { doing: "Asking for the App's user", signal, schema: User.nullable().catch(null) };
  const username = `${named.slug}[bot]`;
  return new GitHubApi(hosted).ask(user, "GET /users/{username}", { username });
}

/** The token's own user. An installation's token has none, and is refused. */
function askForUser(hosted: GitHubOptions, signal: AbortSignal) {
  const asked = { doing: "Asking for the token's user", signal, schema: User.nullable().catch(null) };
  return new GitHubApi(hosted).ask(asked, "GET /user");
}
