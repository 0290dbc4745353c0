import { CREDENTIAL_SHAPES } from "../config/credential-shapes.ts";

/** Removes secrets from a text that somebody will read. */
export type Redact = (text: string) => string;

/** Shorter values are words of everyday text more often than secrets. */
const MIN_SECRET_LENGTH = 8;
const PLACEHOLDER = "[secret]";

const LOOKS_SECRET: readonly RegExp[] = [...CREDENTIAL_SHAPES, /(?<=\bhttps?:\/\/)[^\s/@]{1,200}@/g];

/**
 * The forms in which a secret may turn up: as it is, in a URL, in Base64, in a Basic authorization
 * header.
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
  // Longest first: a secret that holds another one must not leave its rest behind.
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

/** Removes the given secrets, in all their forms, and whatever looks like a credential. */
export function createRedact(secrets: readonly string[]): Redact {
  const forms = secretForms(secrets);
  return (text) => {
    const known = forms.reduce((clean, form) => clean.replaceAll(form, PLACEHOLDER), text);
    return LOOKS_SECRET.reduce((clean, pattern) => clean.replace(pattern, PLACEHOLDER), known);
  };
}
