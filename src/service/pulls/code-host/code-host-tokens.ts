import { z } from "zod";
import type { Clock } from "../../../shared/machine/ports.ts";
import { learnSecret } from "../../base/redaction.ts";
import type { GitHubSettings, ServiceProject } from "../../config/config.ts";
import { type Env, envValue } from "../../config/env.ts";
import { isAtCodeHost } from "../../config/repository.ts";
import { askAsApp, type InstalledApp } from "./github-app.ts";
import { fixedToken, refusalWords, type TokenProvider } from "./token-provider.ts";

/** A token is renewed this long before it expires, so that even a long fetch ends in time. */
const RENEW_BEFORE_MS = 10 * 60_000;
/** If a clock is wrong, a token is still kept for a while, and not for ever. */
const [MIN_KEPT_MS, MAX_KEPT_MS] = [60_000, 50 * 60_000];

/** The token's permissions cover only the repository that it is requested for. */
const Minted = z.object({ token: z.string().min(1).max(10_000), expires_at: z.string() });

type WithRepository = Pick<ServiceProject, "codeHost" | "gitCredentialsEnv" | "repository">;

/**
 * The tokens of all code hosts in the settings. Keep one for as long as possible, because it caches
 * tokens.
 */
export class CodeHostTokens {
  readonly #options: { env: Env; clock: Clock };
  readonly #installations = new Map<string, TokenProvider>();

  constructor(options: { env: Env; clock: Clock }) {
    this.#options = options;
  }

  /** The token in a variable, or null if no variable is named. */
  in(name: string | null | undefined): TokenProvider | null {
    return typeof name === "string" ? fixedToken(envValue(this.#options.env, name), name) : null;
  }

  /** What git authenticates with at a project's repository, or null. */
  forGit({ codeHost, gitCredentialsEnv: name, repository }: WithRepository): TokenProvider | null {
    if (name !== null || codeHost.kind === "none") return this.in(name);
    // An App has no permissions at other hosts.
    const isForIt = codeHost.app === undefined || isAtCodeHost(repository, codeHost.apiUrl);
    return isForIt ? this.of(codeHost) : null;
  }

  /** What authenticates requests to the code host's API. */
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

/**
 * The token of an App's installation, for one repository. Simultaneous callers share one request.
 */
function installationToken({ apiUrl, repo }: GitHubSettings, app: InstalledApp, clock: Clock): TokenProvider {
  const named = `App ${app.id} (installation ${app.installationId})`;
  /** `untilMs` is by the monotonic clock. */
  let kept: { token: string; untilMs: number } | null = null;
  let asking: Promise<string> | null = null;

  async function mint(): Promise<string> {
    // This isn't the first caller's signal, because others wait for the token, too. The request has
    // its own time limit.
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
    const livesMs = Date.parse(expiresAt) - clock.wallMs() || 0;
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
