/** What a value shows of where it comes from. The first that fits counts. */
const KINDS: readonly (readonly [shape: RegExp, kind: string])[] = [
  [/^(?:xoxe\.)?xoxb-/, "a bot token (xoxb-…)"],
  [/^xoxe\.xoxp-/, "a user or configuration token (xoxe.xoxp-…)"],
  [/^xoxp-/, "a user token (xoxp-…)"],
  [/^xoxe-/, "a refresh token (xoxe-…)"],
  [/^xapp-/, "an app-level token (xapp-…)"],
  [/^(?:gh[opsu]_|github_pat_)/, "a GitHub token"],
  [/^glpat-/, "a GitLab token"],
  [/^(?:sk-|AIza)/, "a model's key"],
  [/^-----BEGIN /, "a private key"],
  [/^https?:\/\//, "an address"],
];

/** What kind of token, key or address a value is, in words that don't show it. Null if unknown. */
export function tokenKind(value: string): string | null {
  return KINDS.find(([shape]) => shape.test(value))?.[1] ?? null;
}

/** Quotes at both ends, which Docker and Kubernetes hand on as a part of the value. */
const QUOTED = /^(["'`]).*\1$|^[“”„‘’«].*[“”‘’»]$/su;
const PLACEHOLDER = /\byour[-_ ]|change[-_ ]?me|^<.+>$|…|\.\.\.|x{6,}/iu;

/**
 * What is odd about any value of a setting, with what to do, as it follows the setting's name. Null
 * if nothing is.
 */
export function oddValue(value: string): string | null {
  return QUOTED.test(value) ? "has quotes around its value. Remove them." : null;
}

/**
 * What is odd about a token or a key, with what to do, as it follows the setting's name. Null if
 * nothing is. Shows nothing of the value.
 */
export function oddSecret(value: string): string | null {
  const odd = oddValue(value);
  if (odd !== null) return odd;
  if (/^\$\{?\w+\}?$|^\$\(|^\{\{/.test(value)) {
    return "names something that nothing fills in here. Set it to the value itself.";
  }
  if (/^bearer\s/i.test(value)) return "begins with Bearer. Leave that out.";
  if (PLACEHOLDER.test(value)) return "is still a placeholder. Set it to the real one.";
  const [strange] = /[^\x21-\x7e]/u.exec(value) ?? [];
  if (strange === undefined) return null;
  const code = (strange.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const what = /\s/.test(strange) ? "a space" : "a character";
  return `has ${what} that no token or key has (U+${code}). Copy it again.`;
}
