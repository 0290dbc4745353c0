import type { Clock } from "../../../shared/machine/ports.ts";
import { learnSecret } from "../../base/redaction.ts";
import type { GitHubSettings } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { CodeHostTokens } from "../../pulls/code-host/code-host-tokens.ts";
import { refusalWords, type TokenProvider } from "../../pulls/code-host/token-provider.ts";
import type { LeasedWork } from "../protocol.ts";
import type { ServiceLink } from "./service-link.ts";

/** How long a token is used until the service is asked again, which itself keeps it longer. */
const KEPT_MS = 60_000;

/**
 * The tokens of a piece of work that a runner elsewhere has. Those of an App's installation are the
 * service's, for one repository and at most an hour. All others the runner has to have itself.
 */
export class LentTokens extends CodeHostTokens {
  readonly #lend: { link: ServiceLink; work: LeasedWork; clock: Clock };
  #app: TokenProvider | null = null;

  constructor({ env, ...lend }: { env: Env; link: ServiceLink; work: LeasedWork; clock: Clock }) {
    super({ env, clock: lend.clock });
    this.#lend = lend;
  }

  override of(codeHost: GitHubSettings): TokenProvider {
    if (codeHost.app === undefined) return super.of(codeHost);
    return (this.#app ??= this.#lentFor(codeHost.app.id));
  }

  #lentFor(appId: number): TokenProvider {
    const { link, work, clock } = this.#lend;
    let kept: { token: string | null; untilMs: number } | null = null;
    let refused: string | null = null;
    return {
      async token(signal) {
        if (kept !== null && clock.monotonicMs() < kept.untilMs) return kept.token;
        const token = await link.repositoryToken(work, refused, signal);
        if (token !== null) learnSecret(token);
        refused = null;
        kept = { token, untilMs: clock.monotonicMs() + KEPT_MS };
        return token;
      },
      drop(token) {
        if (kept?.token === token) kept = null;
        refused = token;
        return true;
      },
      refusalOf: (refusal) => {
        const renewal = `Check that App ${appId} is still installed there.`;
        return refusalWords(refusal, { who: "App", named: `App ${appId}`, renewal });
      },
    };
  }
}
