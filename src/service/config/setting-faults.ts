import type { z } from "zod";
import { didYouMean } from "../../shared/text/did-you-mean.ts";
import { settingNames } from "./config-schema.ts";
import { at, looksSecret } from "./place.ts";

/**
 * Secrets in the file. Searches all of it, even parts that no setting uses. Reports the place and
 * never the value.
 */
export function tokenFaults(value: unknown, path: PropertyKey[]): string[] {
  if (typeof value === "string") {
    if (!looksSecret(value)) return [];
    return [
      `${at(path)} looks like a secret. Get a new one, because this one was in a file. Set an ` +
        "environment variable to it, and name that variable here.",
    ];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    tokenFaults(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** What is wrong with each setting by itself, in words. `raw` is the file's content. */
export function faultsOf(issues: readonly z.core.$ZodIssue[], raw: unknown): string[] {
  return issues.flatMap((issue): string[] => {
    const meant = issue.code === "invalid_union" ? meantSection(issue) : [];
    if (meant.length > 0) return faultsOf(meant, raw);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => unknownFault([...issue.path, key]));
    }
    const isMissing = valueAt(raw, issue.path) === undefined;
    // If the schema has no message of its own, a section is expected here.
    const rule = issue.message.startsWith("Invalid ") ? "a section with settings" : issue.message;
    return [
      `${at(issue.path)} ${isMissing ? "is missing. Set it to" : "must be"} ${rule}.${meantBy(issue, raw)}`,
      ...(issue.code === "invalid_union" && issue.errors.length === 0
        ? misspelled(raw, issue.path.slice(0, -1))
        : []),
    ];
  });
}

/** The faults of the section that a setting of several kinds is, as its name tells. */
function meantSection({ errors, path }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] {
  const isNamed = (issues: readonly z.core.$ZodIssue[]) =>
    issues.every((issue) => issue.path.length > 0 || issue.code === "unrecognized_keys") &&
    issues.every((issue) => issue.path[0] !== "name");
  return (errors.find(isNamed) ?? []).map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

/** The known value that a misspelled one stands for, as a question. */
function meantBy(issue: z.core.$ZodIssue, raw: unknown): string {
  const given = valueAt(raw, issue.path);
  if (issue.code !== "invalid_value" || typeof given !== "string") return "";
  const known = issue.values.filter((value) => typeof value === "string");
  const meant = didYouMean(given, known);
  return meant === null ? "" : ` Did you mean ${meant}?`;
}

/**
 * Without a kind, a section isn't checked any further, although a misspelled name may be the cause.
 */
function misspelled(raw: unknown, path: readonly PropertyKey[]): string[] {
  const known = settingNames();
  return Object.keys(Object(valueAt(raw, path)))
    .filter((key) => !known.has(key))
    .map((key) => unknownFault([...path, key]));
}

function unknownFault(path: readonly PropertyKey[]): string {
  const meant = didYouMean(String(path.at(-1)), settingNames());
  return `${at(path)} isn't a setting. ${meant === null ? "Remove it." : `Did you mean ${meant}?`}`;
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value: unknown, key): unknown => Object(value)[key], raw);
}
