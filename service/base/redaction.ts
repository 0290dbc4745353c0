import { CREDENTIAL_SHAPES } from "../config/env.ts";

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

/** More projects than that are hardly asked about within the hour that a token lives. */
const MAX_LEARNED = 200;
const learned = new Set<string>();
let learnedForms: readonly string[] = [];

/**
 * Notes a secret that came to be after the start, such as a token that the code host gave. All of
 * this process keeps it to itself from now on; of very many, the oldest are forgotten.
 */
export function learnSecret(value: string): void {
  if (learned.has(value)) return;
  learned.add(value);
  const [oldest] = learned;
  if (learned.size > MAX_LEARNED && oldest !== undefined) learned.delete(oldest);
  learnedForms = secretForms([...learned]);
}

/** The secrets that this process has learned, in all their forms. */
export function learnedSecrets(): readonly string[] {
  return learnedForms;
}

/**
 * Removes the given secrets and those that were learned, in all their forms, and whatever looks
 * like a credential.
 */
export function createRedact(secrets: readonly string[]): Redact {
  const forms = secretForms(secrets);
  return (text) => {
    const known = [...learnedForms, ...forms].reduce(
      (clean, form) => clean.replaceAll(form, PLACEHOLDER),
      text,
    );
    return LOOKS_SECRET.reduce((clean, pattern) => clean.replace(pattern, PLACEHOLDER), known);
  };
}
