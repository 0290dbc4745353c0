import { createHash, timingSafeEqual } from "node:crypto";

/**
 * The kind of a token on GitHub. A fine-grained personal access token can't read check runs, and
 * only an App's installation can write them (docs.github.com/rest/checks/runs).
 */
export type TokenKind = "classic" | "fine-grained" | "installation";

/**
 * The owner of a token, and its kind. An installation's token has its permissions, by their names.
 * Without them, an App may do everything.
 */
export type Holder = {
  login: string;
  kind: TokenKind;
  permissions?: Readonly<Record<string, string>> | undefined;
};

/** A token. By default, its `login` is the one that opens pull requests. */
export type TokenOptions = string | ({ token: string } & Partial<Holder>);

/**
 * The sender of a request according to its `Authorization` header. `key` differs for each token.
 */
export type Caller = "nobody" | "refused" | (Holder & { key: string });

/** The login that opens pull requests, unless a token says otherwise. */
export const AUTHOR = "docs-agent";

/** Recognizes tokens by their hashes, in constant time. */
export class Tokens {
  readonly #known: { hash: Buffer; holder: Holder }[] = [];

  constructor(tokens: readonly TokenOptions[]) {
    for (const token of tokens) this.add(token);
  }

  /** Adds a token. Every token may write. An empty one is left out. */
  add(options: TokenOptions): void {
    const {
      token,
      login = AUTHOR,
      kind = "classic",
      permissions,
    } = typeof options === "string" ? { token: options } : options;
    if (token !== "") this.#known.push({ hash: hash(token), holder: { login, kind, permissions } });
  }

  /** Removes a token, which is refused from now on. */
  remove(token: string): void {
    const at = this.#known.findIndex((known) => known.hash.equals(hash(token)));
    if (at >= 0) this.#known.splice(at, 1);
  }

  /**
   * Returns the sender of a header: Bearer, GitHub's old `token`, or Basic. In Basic, the token is
   * the password, or the user name if there is no password.
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
    // Every hash is compared, so that the time doesn't show which one was close.
    const [hit] = this.#known.filter((known) => timingSafeEqual(known.hash, given));
    return hit === undefined ? "refused" : { ...hit.holder, key: given.toString("base64url") };
  }
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
