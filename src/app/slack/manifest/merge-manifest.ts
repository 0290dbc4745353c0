import { isDeepStrictEqual } from "node:util";
import { isJsonFields, jsonFields, type JsonFields, jsonText } from "../../../shared/text/json-fields.ts";
import type { Reach } from "./own-manifest.ts";

/** What names an entry of a list, by which it is the same entry on both sides. */
const KEYS = ["command", "callback_id", "title"];

/** What belongs to the people who run the app: where it is, what it is called, how it looks. */
const THEIRS = [
  /^display_information\./,
  /^features\.bot_user\./,
  /^features\.agent_view\./,
  /(?:^|\.)(?:url|request_url)$/,
  /^settings\.(?:socket_mode|org_deploy|token_rotation)_enabled$/,
];

/** One difference between two manifests. */
export type ManifestDifference = {
  /** Where it is, such as `oauth_config.scopes.bot`. */
  place: string;
  kind: "added" | "removed" | "changed";
  /** What is there, in one line. */
  text: string;
};

/**
 * Brings this version's manifest into a live one. What only the live one has stays, and so do its
 * name, look and addresses.
 */
export function mergeManifest(live: JsonFields, own: JsonFields): JsonFields {
  return mergeFields(live, own, "");
}

function mergeFields(live: JsonFields, own: JsonFields, place: string): JsonFields {
  const merged: Record<string, unknown> = { ...live };
  for (const [name, ours] of Object.entries(own)) {
    const at = place === "" ? name : `${place}.${name}`;
    merged[name] = Object.hasOwn(live, name) ? mergeValue(live[name], ours, at) : ours;
  }
  return merged;
}

function mergeValue(theirs: unknown, ours: unknown, place: string): unknown {
  if (Array.isArray(theirs) && Array.isArray(ours)) return mergeLists(theirs, ours, place);
  if (isJsonFields(theirs) && isJsonFields(ours)) return mergeFields(theirs, ours, place);
  return THEIRS.some((pattern) => pattern.test(place)) ? theirs : ours;
}

function mergeLists(theirs: readonly unknown[], ours: readonly unknown[], place: string): unknown[] {
  const merged = [...theirs];
  for (const entry of ours) {
    const at = merged.findIndex((each) => isSameEntry(each, entry));
    if (at === -1) merged.push(entry);
    else merged[at] = mergeValue(merged[at], entry, place);
  }
  return merged;
}

function isSameEntry(one: unknown, other: unknown): boolean {
  if (!isJsonFields(one) || !isJsonFields(other)) return isDeepStrictEqual(one, other);
  return KEYS.some((key) => typeof one[key] === "string" && one[key] === other[key]);
}

/** What leads from one manifest to another, in the order of the other. */
export function manifestDifferences(from: JsonFields, to: JsonFields, place = ""): ManifestDifference[] {
  const names = [...new Set([...Object.keys(to), ...Object.keys(from)])];
  return names.flatMap((name) =>
    differencesAt(from[name], to[name], place === "" ? name : `${place}.${name}`),
  );
}

function differencesAt(from: unknown, to: unknown, place: string): ManifestDifference[] {
  if (isDeepStrictEqual(from, to)) return [];
  if (isJsonFields(from) && isJsonFields(to)) return manifestDifferences(from, to, place);
  if (Array.isArray(from) && Array.isArray(to)) return differencesOfLists(from, to, place);
  if (from === undefined) return [{ place, kind: "added", text: inOneLine(to) }];
  if (to === undefined) return [{ place, kind: "removed", text: inOneLine(from) }];
  return [{ place, kind: "changed", text: `${inOneLine(from)} → ${inOneLine(to)}` }];
}

function differencesOfLists(
  from: readonly unknown[],
  to: readonly unknown[],
  place: string,
): ManifestDifference[] {
  const before = (entry: unknown) => from.find((each) => isSameEntry(each, entry));
  const kept = to.flatMap((entry) => {
    const old = before(entry);
    if (old === undefined) return [{ place, kind: "added" as const, text: inOneLine(entry) }];
    return differencesAt(old, entry, `${place}.${nameOf(entry)}`);
  });
  const gone = from.filter((entry) => !to.some((each) => isSameEntry(each, entry)));
  return [...kept, ...gone.map((entry) => ({ place, kind: "removed" as const, text: inOneLine(entry) }))];
}

function nameOf(entry: unknown): string {
  const key = isJsonFields(entry) ? KEYS.map((name) => entry[name]).find((name) => name !== undefined) : null;
  return typeof key === "string" ? key : "?";
}

function inOneLine(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** True if a change to an app takes effect only once the app is installed again. */
export function needsReinstall(differences: readonly ManifestDifference[]): boolean {
  return differences.some(({ place }) => /^oauth_config\.scopes\b/.test(place));
}

/** How Slack reaches the app of a live manifest. Null if it is over HTTP and has no address yet. */
export function reachOf(live: JsonFields): Reach | null {
  const settings = jsonFields(live["settings"]);
  if (settings["socket_mode_enabled"] === true) return { kind: "socket" };
  const url = URL.parse(jsonText(jsonFields(settings["event_subscriptions"])["request_url"]));
  return url === null ? null : { kind: "http", host: url.host };
}
