import { knownRefusal, quotedLine, type RefusalWords } from "./refusals.ts";

/**
 * A refusal: its status, the lines of its text, and the permissions that would be needed, if the
 * code host says so.
 */
export type CodeHostRefusal = { status: number; said: readonly string[]; permissions: string | null };

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
  refusalOf(refusal: CodeHostRefusal): RefusalWords;
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
): RefusalWords {
  const known = knownRefusal(said);
  if (known !== null) return known;
  const text = said.join("\n");
  if (/not accessible by (?:integration|personal access token)/i.test(text)) {
    const which = permissions ?? "that docs/install.md names";
    return [
      `The service's ${who} lacks a permission at the code host.`,
      `Give ${named} the permission ${which}.` +
        (who === "App" ? " Then accept that in its installation." : ""),
    ];
  }
  if (status === 401) return [`The code host refused the service's ${who}.`, renewal];
  if (status === 403 && OF_RIGHTS.test(text)) {
    return [
      `The service's ${who} may not open pull requests. ${quotedLine(said) ?? ""}`.trim(),
      `Give ${named} the right to write pull requests.`,
    ];
  }
  if (status === 404) {
    return [
      `There is no such repository at the code host, or the service's ${who} may not see it.`,
      `Check codeHost.owner and codeHost.repo, and what ${named} may see.`,
    ];
  }
  return otherRefusal({ status, said });
}

/** A 403 that says something else isn't about rights. */
const OF_RIGHTS = /^$|\b(?:forbidden|must have|permission|access|not allowed|denied|rights|scopes?)\b/i;

/** What a refusal means that only its own words tell. */
export function otherRefusal({ status, said }: Pick<CodeHostRefusal, "status" | "said">): RefusalWords {
  const quoted = quotedLine(said);
  return quoted === null
    ? [`The code host answered ${status}.`, ""]
    : [`The code host refused. ${quoted}`, "Fix what it names."];
}
