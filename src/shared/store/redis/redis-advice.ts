import { networkTrouble } from "../../machine/network-trouble.ts";

const SETTING = "STORE_URL: redis://:password@host:6379, or redis://user:password@host:6379.";
const WITHOUT_TLS = /Socket closed unexpectedly|ECONNRESET/;

/** What Redis says when it lets nobody in, and what to do. */
const REFUSED: readonly (readonly [said: RegExp, todo: string])[] = [
  [/^NOAUTH|AUTH.*without any password/, `Put the password into ${SETTING}`],
  [/^WRONGPASS|invalid password/i, `Correct user and password in ${SETTING}`],
  [/^NOPERM|no permissions/i, "Give the user in STORE_URL the rights that docs/replicas.md lists."],
  [
    /DB index is out of range/i,
    "Redis has fewer databases: use a lower number at the end of STORE_URL, or 0.",
  ],
  [/protected mode/i, "Set a password in Redis (requirepass), and put it into STORE_URL."],
];

/** What to do if a Redis can't be opened, by what was said. Null if that says nothing. */
export function redisAdvice(said: string, code: string | null, url: string): string | null {
  const refused = REFUSED.find(([words]) => words.test(said));
  if (refused !== undefined) return refused[1];
  if (url.startsWith("rediss:") && /timeout/i.test(said)) {
    return "Nothing speaks TLS there. If this Redis has none, write redis:// in STORE_URL.";
  }
  if (WITHOUT_TLS.test(said)) {
    return "What answers there isn't Redis, or wants TLS: rediss:// in STORE_URL.";
  }
  const trouble = networkTrouble(code ?? "");
  return trouble === null ? null : `${trouble.todo} It is in STORE_URL.`;
}
