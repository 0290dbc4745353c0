import { readdirSync, readFileSync } from "node:fs";

const FOLDER = new URL("../fixtures/slack-samples/", import.meta.url);

/** Paths of fields and the kinds of values they have. */
export type Shape = Map<string, Set<string>>;

/** Where apps name the fields, or where the samples were emptied: what is below says nothing about Slack. */
const OPEN = /(?:^|\.)(?:blocks|state|event_payload)$/;

/** One of `test/fixtures/slack-samples/`, by its path there without the ending. */
export function readSample(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
}

/** The names of all samples that are here. */
export function listSamples(): string[] {
  return readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.replace(/\.json$/, ""));
}

/** The fields of these values together. */
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

/** Fields that `ours` has and Slack has not, or has as another kind. Null may stand for anything. */
export function invented(ours: Shape, slack: Shape): string[] {
  return [...ours].flatMap(([path, kinds]) => {
    const known = slack.get(path);
    if (known === undefined) return slack.has(parentOf(path)) ? [path] : [];
    const others = [...kinds].filter((kind) => kind !== "null" && !known.has(kind));
    return others.map((kind) => `${path} (${kind})`);
  });
}

/** Fields that Slack has and `ours` has not; of an object that is left out, only its own name. */
export function leftOut(ours: Shape, slack: Shape): string[] {
  return [...slack.keys()].filter((path) => !ours.has(path) && ours.has(parentOf(path)));
}

function parentOf(path: string): string {
  return path.endsWith("[]") ? path.slice(0, -2) : path.slice(0, Math.max(0, path.lastIndexOf(".")));
}
