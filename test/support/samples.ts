import { readdirSync, readFileSync } from "node:fs";

const FOLDER = new URL("../fixtures/slack-samples/", import.meta.url);

/** The kinds of values of each field, by its path. */
export type Shape = Map<string, Set<string>>;

/**
 * Fields whose content says nothing about Slack: apps name the fields inside, or the samples were
 * emptied.
 */
const OPEN = /(?:^|\.)(?:blocks|state|event_payload)$/;

/** Reads a sample of `test/fixtures/slack-samples/` by its path there, without the extension. */
export function readSample(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
}

/** Lists the names of all samples. */
export function listSamples(): string[] {
  return readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.replace(/\.json$/, ""));
}

/** Returns the fields of all these values together. */
export function shapeOf(values: readonly unknown[]): Shape {
  const shape: Shape = new Map();
  for (const value of values) add(value, "", shape);
  return shape;
}

function add(value: unknown, path: string, shape: Shape): void {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  shape.set(path, (shape.get(path) ?? new Set()).add(kind));
  if (typeof value !== "object" || value === null || OPEN.test(path)) return;
  const parts: [string, unknown][] = Array.isArray(value)
    ? value.map((part) => [`${path}[]`, part])
    : Object.entries(value).map(([key, part]) => [path === "" ? key : `${path}.${key}`, part]);
  for (const [inner, part] of parts) add(part, inner, shape);
}

/**
 * Returns fields that `ours` has and Slack doesn't have, or has with another kind of value. Null
 * matches any kind.
 */
export function invented(ours: Shape, slack: Shape): string[] {
  return [...ours].flatMap(([path, kinds]) => {
    const known = slack.get(path);
    if (known === undefined) return slack.has(parentOf(path)) ? [path] : [];
    const others = [...kinds].filter((kind) => kind !== "null" && !known.has(kind));
    return others.map((kind) => `${path} (${kind})`);
  });
}

/**
 * Returns fields that Slack has and `ours` doesn't. For a missing object, it returns only the
 * object's name.
 */
export function leftOut(ours: Shape, slack: Shape): string[] {
  return [...slack.keys()].filter((path) => !ours.has(path) && ours.has(parentOf(path)));
}

function parentOf(path: string): string {
  return path.endsWith("[]") ? path.slice(0, -2) : path.slice(0, Math.max(0, path.lastIndexOf(".")));
}
