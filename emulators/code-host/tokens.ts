import { createHash, timingSafeEqual } from "node:crypto";

/** What a request's `Authorization` header says about who sends it. */
export type Caller = "nobody" | "refused" | "writer";

/** Knows the tokens by their hashes, and compares in constant time. */
export class Tokens {
  readonly #hashes: Buffer[];

  constructor(tokens: string[]) {
    this.#hashes = tokens.filter((token) => token !== "").map(hash);
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
    const hits = this.#hashes.filter((known) => timingSafeEqual(known, given));
    return hits.length > 0 ? "writer" : "refused";
  }
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
