import { type Files, textOf } from "../files.ts";

/** The names that packages export, by the packages' names, and all that code calls by a dot. */
export type KnownNames = { exports: ReadonlyMap<string, ReadonlySet<string>>; methods: ReadonlySet<string> };

const EXPORT = /^export\s+(?:default\s+)?(?:async\s+)?(?:function\*?|const|let|var|class)\s+([\w$]+)/gm;
const EXPORT_LIST = /^export\s*(?:type\s*)?\{([^}]*)\}/gm;
const METHOD =
  /^\s+(?:async\s+|static\s+|get\s+|\*\s*)*([\w$]+)\s*(?:=\s*(?:async\s*)?)?\([^)]*\)\s*(?:=>\s*)?\{/gm;
const CALLED = /\.([\w$]+)\s*\(/g;
const BUILTINS = [
  Array,
  Date,
  JSON,
  Map,
  Math,
  Number,
  Object,
  Promise,
  Set,
  String,
  console,
  process,
  RegExp,
  URL,
  Buffer,
];

const knownOf = new WeakMap<Files, KnownNames>();

/** What code of a task's repository and contexts defines. */
export function knownNames([before, ...contexts]: readonly Files[]): KnownNames {
  const known = before === undefined ? undefined : knownOf.get(before);
  if (known !== undefined) return known;
  const exports = new Map<string, Set<string>>();
  const methods = new Set<string>(BUILTINS.flatMap(namesOf));
  for (const files of [before ?? new Map<string, Buffer>(), ...contexts]) {
    const names = new Set<string>();
    let packageName: string | null = null;
    for (const [path, content] of files) {
      if (path === "package.json") packageName = /"name":\s*"([^"]+)"/.exec(content.toString())?.[1] ?? null;
      if (!/\.[cm]?[jt]sx?$/.test(path)) continue;
      const code = textOf(content) ?? "";
      for (const { 1: name } of code.matchAll(EXPORT)) names.add(name ?? "");
      for (const { 1: list } of code.matchAll(EXPORT_LIST))
        for (const part of (list ?? "").split(",")) names.add(part.trim().replace(/^.*\bas\s+/, ""));
      for (const pattern of [METHOD, CALLED])
        for (const { 1: name } of code.matchAll(pattern)) methods.add(name ?? "");
    }
    if (packageName !== null && names.size > 0) exports.set(packageName, names);
  }
  const found = { exports, methods };
  if (before !== undefined) knownOf.set(before, found);
  return found;
}

function namesOf(value: object): string[] {
  const prototype: unknown = Reflect.get(value, "prototype");
  const own =
    typeof prototype === "object" && prototype !== null ? Object.getOwnPropertyNames(prototype) : [];
  return [...Object.getOwnPropertyNames(value), ...own];
}

const IMPORTS = /^import\s*\{([^}]*)\}\s*from\s*["']([^"']+)["']/gm;

/**
 * The names that a sample imports from a known package, and calls on what it got, that don't
 * exist.
 */
export function jsFaults(code: string, { exports, methods }: KnownNames): string[] {
  const imports = [...code.matchAll(IMPORTS)].filter(({ 2: from }) => exports.has(from ?? ""));
  const missing = imports.flatMap(({ 1: list, 2: from }) =>
    (list ?? "")
      .split(",")
      .map((part) => part.trim().replace(/\s+as\b.*$/, ""))
      .filter((name) => name !== "" && exports.get(from ?? "")?.has(name) !== true)
      .map((name) => `${from} has no ${name}`),
  );
  if (imports.length === 0) return missing;
  const called = [...code.matchAll(CALLED)].map(({ 1: name }) => name ?? "");
  return [
    ...missing,
    ...called.filter((name) => !methods.has(name)).map((name) => `nothing defines ${name}()`),
  ];
}
