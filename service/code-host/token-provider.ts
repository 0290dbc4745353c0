/**
 * A refusal: its status, its text, and the permissions that would be needed, if the code host says
 * so.
 */
export type CodeHostRefusal = { status: number; said: string; permissions: string | null };

/**
 * Provides the token for requests to the code host. Ask for it before each use: an App's token
 * lives for an hour, and a turn may take longer.
 */
export type TokenProvider = {
  /** Resolves to null if requests go out without a token. Rejects as the code host's API does. */
  token(signal: AbortSignal): Promise<string | null>;
  /** Call this if the host refused the token. Returns true if the next one will be different. */
  drop(token: string): boolean;
  /** What a refusal means: the reason, for people, and what the operator can do. */
  refusalOf(refusal: CodeHostRefusal): [reason: string, advice: string];
};

/** Always provides the same token. `env` is the variable that holds it. */
export function fixedToken(token: string | null, env: string): TokenProvider {
  const held = { who: "token", named: `the token in ${env}`, renewal: `Set ${env} to a valid token.` };
  return { token: async () => token, drop: () => false, refusalOf: (refusal) => refusalWords(refusal, held) };
}

/**
 * What a refusal means for a token or an App (`who`), which the operator knows as `named`.
 * `renewal` says what to do if it isn't accepted at all.
 */
export function refusalWords(
  { status, said, permissions }: CodeHostRefusal,
  { who, named, renewal }: { who: string; named: string; renewal: string },
): [reason: string, advice: string] {
  if (/suspended/i.test(said) && status === 403) return SUSPENDED;
  if (/not accessible by (?:integration|personal access token)/i.test(said)) {
    const which = permissions ?? "that docs/install.md names";
    return [
      `The service's ${who} lacks a permission at the code host.`,
      `Give ${named} the permission ${which}.` +
        (who === "App" ? " Then accept that in its installation." : ""),
    ];
  }
  switch (status) {
    case 401:
      return [`The code host refused the service's ${who}.`, renewal];
    case 403:
      return [
        `The service's ${who} may not open pull requests.`,
        `Give ${named} the right to write pull requests.`,
      ];
    case 404:
      return [
        `There is no such repository at the code host, or the service's ${who} may not see it.`,
        `Check codeHost.owner and codeHost.repo, and what ${named} may see.`,
      ];
    default:
      return [`The code host answered ${status}.`, ""];
  }
}

/** For an App's installation that was suspended. */
export const SUSPENDED: [reason: string, advice: string] = [
  "The service's App is suspended at the code host.",
  "Unsuspend its installation in the owner's settings, under GitHub Apps.",
];
