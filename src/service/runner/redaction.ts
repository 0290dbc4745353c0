/** Removes secrets from a text that somebody will read. */
export type Redact = (text: string) => string;

/** Shorter values are words of everyday text more often than secrets. */
const MIN_SECRET_LENGTH = 8;
const PLACEHOLDER = "[secret]";

/** What looks like a credential wherever it comes from: the prefixes that the issuers document, keys and passwords in URLs. */
const LOOKS_SECRET: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bgh[pousr]_[A-Za-z0-9]{16,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{10,}/g,
  /\bxapp-[A-Za-z0-9-]{10,}/g,
  /\bsk-[A-Za-z0-9_-]{20,}/g,
  /\bmint_[A-Za-z0-9]{16,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
  /(?<=\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.~-]{16,}={0,2}/gi,
  /(?<=\bhttps?:\/\/)[^\s/@]{1,200}@/g,
];

/** The forms in which a secret may turn up: as it is, in a URL, in Base64, in a Basic authorization header. */
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
  // Longest first: a secret that holds another one must not leave its rest behind.
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

/** Removes the given secrets, in all their forms, and whatever looks like a credential. */
export function createRedact(secrets: readonly string[], also: Redact = (text) => text): Redact {
  const forms = secretForms(secrets);
  return (text) => {
    const known = forms.reduce((clean, form) => clean.replaceAll(form, PLACEHOLDER), text);
    return also(LOOKS_SECRET.reduce((clean, pattern) => clean.replace(pattern, PLACEHOLDER), known));
  };
}
