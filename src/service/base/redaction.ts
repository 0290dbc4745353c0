/** Removes secrets from a text that somebody will read. */
export type Redact = (text: string) => string;

/** Shorter values are more often everyday words than secrets. */
const MIN_SECRET_LENGTH = 8;
const PLACEHOLDER = "[secret]";

/**
 * Patterns of credentials from anywhere: the prefixes that issuers document, and private keys. All
 * are global. What something else has to follow is bounded: otherwise, a megabyte that an agent
 * writes could take hours.
 */
export const CREDENTIAL_SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // Newer tokens of Apps: the App's id and a signed part.
  /\bghs_[\w-]{4,300}\.[\w-]{4,8000}\.[\w-]{4,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{16,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{10,}/g,
  /\bxapp-[A-Za-z0-9-]{10,}/g,
  /\bsk-[A-Za-z0-9_-]{20,}/g,
  /\bmint_[A-Za-z0-9]{16,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  // Only letters and digits: `npm_config_user_agent` is the name of a variable.
  /\b(?:npm|hf)_[A-Za-z0-9]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,500}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,}/g,
  /(?<=\b(?:bearer|basic)\s{1,20})[A-Za-z0-9+/_.~-]{16,}={0,2}/gi,
];

const LOOKS_SECRET: readonly RegExp[] = [...CREDENTIAL_SHAPES, /(?<=\bhttps?:\/\/)[^\s/@]{1,200}@/g];

/**
 * The forms in which a secret may appear: as it is, in a URL, in Base64, and in a Basic
 * authorization header.
 */
export function secretForms(values: readonly string[]): string[] {
  const forms = values
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .flatMap((value) => [
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      Buffer.from(value).toString("base64"),
      Buffer.from(`x-access-token:${value}`).toString("base64"),
    ]);
  // Longest first. If one secret contains another, replacing the short one first would leave the
  // rest.
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

/** A token lives for an hour. More projects are hardly used within that time. */
const MAX_LEARNED = 200;
const learned = new Set<string>();
let learnedForms: readonly string[] = [];

/**
 * Adds a secret that appeared after the start, such as a token from the code host. From now on this
 * process redacts it everywhere. If there are very many, the oldest are forgotten.
 */
export function learnSecret(value: string): void {
  if (learned.has(value)) return;
  learned.add(value);
  const [oldest] = learned;
  if (learned.size > MAX_LEARNED && oldest !== undefined) learned.delete(oldest);
  learnedForms = secretForms([...learned]);
}

/** All forms of the secrets that this process has learned. */
export function learnedSecrets(): readonly string[] {
  return learnedForms;
}

/**
 * Returns a function that removes the given secrets and the learned ones, in all their forms, and
 * everything that looks like a credential.
 */
export function createRedact(secrets: readonly string[]): Redact {
  const forms = secretForms(secrets);
  return (text) => redactForms([...learnedForms, ...forms])(text);
}

/** Like {@link createRedact}, for forms of secrets. What this process has learned isn't added. */
export function redactForms(forms: readonly string[]): Redact {
  return (text) => {
    const known = forms.reduce((clean, form) => clean.replaceAll(form, PLACEHOLDER), text);
    return LOOKS_SECRET.reduce((clean, pattern) => clean.replace(pattern, PLACEHOLDER), known);
  };
}
