import { z } from "zod";
import type { Clock } from "../../src/core/ports/process.ts";
import { learnSecret } from "../base/redaction.ts";
import type { GitHubSettings, ServiceProject } from "../config/config.ts";
import { type Env, envValue } from "../config/env.ts";
import { isAtCodeHost } from "../config/repository.ts";
import { askAsApp, type InstalledApp } from "./github-app.ts";
import { fixedToken, refusalWords, type TokenProvider } from "./token-provider.ts";

/** Before it ends: what began with a token has to be done with it, also a long fetch. */
const RENEW_BEFORE_MS = 10 * 60_000;
/** A clock that is wrong makes a token neither worthless nor eternal. */
const [MIN_KEPT_MS, MAX_KEPT_MS] = [60_000, 50 * 60_000];

/** It may do no more than the repository that it is asked for allows. */
const Minted = z.object({ token: z.string().min(1).max(10_000), expires_at: z.string() });

type WithRepository = Pick<ServiceProject, "codeHost" | "gitCredentialsEnv" | "repository">;

/** The tokens of all code hosts that the settings name. One for each process: they are kept. */
export class CodeHostTokens {
  readonly #options: { env: Env; clock: Clock };
  readonly #installations = new Map<string, TokenProvider>();

  constructor(options: { env: Env; clock: Clock }) {
    this.#options = options;
  }

  /** What a variable has; null: it isn't named. */
  in(name: string | null | undefined): TokenProvider | null {
    return typeof name === "string" ? fixedToken(envValue(this.#options.env, name), name) : null;
  }

  /** What git authenticates with at a project's repository; null: nothing. */
  forGit({ codeHost, gitCredentialsEnv: name, repository }: WithRepository): TokenProvider | null {
    if (name !== null || codeHost.kind === "none") return this.in(name);
    // An App has no right to anything elsewhere.
    const isForIt = codeHost.app === undefined || isAtCodeHost(repository, codeHost.apiUrl);
    return isForIt ? this.of(codeHost) : null;
  }

  /** What the code host's API is asked with. */
  of(codeHost: GitHubSettings): TokenProvider {
    const { env, clock } = this.#options;
    const { apiUrl, owner, repo, app, tokenEnv = "" } = codeHost;
    if (app === undefined) return fixedToken(envValue(env, tokenEnv), tokenEnv);
    const key = JSON.stringify([apiUrl, owner, repo, app]);
    const known = this.#installations.get(key) ?? installationToken(codeHost, app, clock);
    this.#installations.set(key, known);
    return known;
  }
}

/** The token of an App's installation, for one repository. All who ask at once share a request. */
function installationToken({ apiUrl, repo }: GitHubSettings, app: InstalledApp, clock: Clock): TokenProvider {
  const named = `App ${app.id} (installation ${app.installationId})`;
  /** By the monotonic clock. */
  let kept: { token: string; untilMs: number } | null = null;
  let asking: Promise<string> | null = null;

  async function mint(): Promise<string> {
    // Not by the signal of whoever asked first: others wait for it, too. It has a limit of its own.
    const { signal } = new AbortController();
    const asked = { doing: "Asking for the App's token", signal, schema: Minted };
    const startedMs = clock.monotonicMs();
    const { token, expires_at: expiresAt } = await askAsApp(
      { ...app, apiUrl, clock },
      asked,
      "POST /app/installations/{installation_id}/access_tokens",
      { installation_id: app.installationId, repositories: [repo] },
    );
    learnSecret(token);
    const livesMs = Date.parse(expiresAt) - clock.now() || 0;
    const keptMs = Math.min(Math.max(livesMs - RENEW_BEFORE_MS, MIN_KEPT_MS), MAX_KEPT_MS);
    kept = { token, untilMs: startedMs + keptMs };
    return token;
  }

  return {
    async token(signal) {
      signal.throwIfAborted();
      if (kept !== null && clock.monotonicMs() < kept.untilMs) return kept.token;
      asking ??= mint().finally(() => (asking = null));
      const token = await asking;
      signal.throwIfAborted();
      return token;
    },
    drop(token) {
      if (kept?.token === token) kept = null;
      return true;
    },
    refusalOf: (refusal) =>
      refusalWords(refusal, { who: "App", named, renewal: `Check that ${named} is still there.` }),
  };
}
