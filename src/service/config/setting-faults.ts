import type { z } from "zod";
import { didYouMean, meantValue } from "../../shared/text/did-you-mean.ts";
import { settingNames, settingPlaces } from "./config-schema.ts";
import { at, looksSecret } from "./place.ts";

/**
 * Secrets in the file. Searches all of it, even parts that no setting uses. Reports the place and
 * never the value.
 */
export function tokenFaults(value: unknown, path: PropertyKey[]): string[] {
  if (typeof value === "string") {
    if (!looksSecret(value)) return [];
    const isAddress = URL.canParse(value) && new URL(value).password !== "";
    return [
      isAddress
        ? `${at(path)} has a password. Get a new one, because this one was in a file, and write the ` +
          "address without it."
        : `${at(path)} looks like a secret. Get a new one, because this one was in a file. Set an ` +
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
      `${at(issue.path)} ${isMissing ? "is missing. Set it to" : "must be"} ` +
        `${rule.replace(/(?<!\?)$/, ".")}${meantBy(issue, raw)}`,
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

/** The words that a setting may have. */
function knownValues(issue: z.core.$ZodIssue): string[] {
  if (issue.code === "invalid_value") return issue.values.filter((value) => typeof value === "string");
  if (issue.code !== "invalid_union" || !("options" in issue)) return [];
  return (issue.options ?? []).filter((value) => typeof value === "string");
}

/** The known value that a misspelled one stands for, as a question. */
function meantBy(issue: z.core.$ZodIssue, raw: unknown): string {
  const given = valueAt(raw, issue.path);
  if (typeof given !== "string") return "";
  const meant = meantValue(given, knownValues(issue));
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

const MAX_PLACES = 2;

function unknownFault(path: readonly PropertyKey[]): string {
  const name = String(path.at(-1));
  if (/[^\x20-\x7e]/.test(name)) {
    return `${at(path)} has signs that no setting has, perhaps invisible ones. Type this line anew.`;
  }
  const places = settingPlaces().get(name) ?? [];
  // A common name, such as `name`, says nothing of what is meant.
  const isElsewhere = !places.includes(at(path).replaceAll(/\[\d+\]/g, "[]"));
  if (isElsewhere && places.length > 0 && places.length <= MAX_PLACES) {
    return `${at(path)} isn't a setting here. Move it to ${places.join(" or ")}.`;
  }
  const meant = didYouMean(name, settingNames());
  return `${at(path)} isn't a setting. ${meant === null ? "Remove it." : `Did you mean ${meant}?`}`;
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value: unknown, key): unknown => Object(value)[key], raw);
}
