import { createHash, timingSafeEqual } from "node:crypto";

/**
 * What a token is on GitHub. A fine-grained personal access token can't read check runs, and only
 * an App's installation can write them (docs.github.com/rest/checks/runs).
 */
export type TokenKind = "classic" | "fine-grained" | "installation";

/** Who shows a token. */
export type Holder = { login: string; kind: TokenKind };

/** `login` is by default the one that opens pull requests. */
export type TokenOptions = string | ({ token: string } & Partial<Holder>);

/** What a request's `Authorization` header says about who sends it. `key` tells tokens apart. */
export type Caller = "nobody" | "refused" | (Holder & { key: string });

/** Who opens pull requests here, unless a token says otherwise. */
export const AUTHOR = "docs-agent";

/** Knows the tokens by their hashes, and compares in constant time. */
export class Tokens {
  readonly #known: { hash: Buffer; holder: Holder }[] = [];

  constructor(tokens: readonly TokenOptions[]) {
    for (const token of tokens) this.add(token);
  }

  /** From now on it is known; every token may write. An empty one is left out. */
  add(options: TokenOptions): void {
    const {
      token,
      login = AUTHOR,
      kind = "classic",
    } = typeof options === "string" ? { token: options } : options;
    if (token !== "") this.#known.push({ hash: hash(token), holder: { login, kind } });
  }

  /** From now on it is refused. */
  remove(token: string): void {
    const at = this.#known.findIndex((known) => known.hash.equals(hash(token)));
    if (at >= 0) this.#known.splice(at, 1);
  }

  /**
   * Bearer, GitHub's old `token`, or Basic with the token as the password or, with none, as the
   * user name.
   */
  caller(authorization: string | undefined): Caller {
    if (authorization === undefined || authorization === "") return "nobody";
    const [, scheme = "", credentials = ""] = /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
    switch (scheme.toLowerCase()) {
      case "bearer":
      case "token":
        return this.#judge(credentials);
      case "basic": {
        const [user = "", ...password] = Buffer.from(credentials, "base64").toString("utf8").split(":");
        return this.#judge(password.join(":") || user);
      }
      default:
        return "refused";
    }
  }

  #judge(token: string): Caller {
    const given = hash(token);
    // Every hash is looked at, so that the time taken does not tell which one was near.
    const [hit] = this.#known.filter((known) => timingSafeEqual(known.hash, given));
    return hit === undefined ? "refused" : { ...hit.holder, key: given.toString("base64url") };
  }
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
