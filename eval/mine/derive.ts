import type { Check } from "../checks.ts";
import { sectionsUnder } from "../page/sections.ts";
import { asPattern, escaped, hasToken, type Texts } from "./known.ts";
import type { ChangedPage, Place } from "./places.ts";
import type { Found } from "./select.ts";

/** A token in more other files than this is too common to be the same fault there. */
const MAX_OTHERS = 20;
/** A shorter token may be anything elsewhere. */
const MIN_DISTINCT = 5;

/** What a task judges by, besides what every task is judged by. */
export type Derived = { checks: Check[]; zone: { may: string[]; adds: number } };

/** The checks that follow from a commit's places: what is gone, what stands, and what stays. */
export function derived({ places, lines }: Found, pages: readonly ChangedPage[], { docs }: Texts): Derived {
  const others = elsewhere(places, pages, docs);
  const checks: Check[] = [];
  const add = (check: Check) => {
    const isThere = checks.some(
      (each) => JSON.stringify({ ...each, name: "" }) === JSON.stringify({ ...check, name: "" }),
    );
    if (!isThere) checks.push({ ...check, name: `${check.name}-${checks.length + 1}` });
  };
  for (const place of places) {
    const page = pages.find(({ path }) => path === place.path);
    const [before, after] = [page?.before ?? "", page?.after ?? ""];
    const inPlace = (text: string) =>
      place.under === null ? text : (sectionsUnder(text, place.under) ?? text);
    const where = { in: [place.path], ignoreCase: false };
    const under = place.under === null ? {} : { under: place.under };
    const count = checks.length;
    const goes = (matches: string) => {
      if (!matchesIn(after, matches)) add({ name: "gone", kind: "gone", ...where, matches });
      else if (!matchesIn(inPlace(after), matches) && matchesIn(inPlace(before), matches))
        add({ name: "gone", kind: "gone", ...where, ...under, matches });
    };
    const comes = (matches: string) => {
      if (matchesIn(inPlace(after), matches) && !matchesIn(inPlace(before), matches))
        add({ name: "stands", kind: "stands", ...where, ...under, matches, anywhere: false });
    };
    for (const token of place.old) goes(patternOf(token, place));
    for (const token of place.brought) comes(patternOf(token, place));
    if (checks.length > count || place.kind !== "sample") continue;
    // All names stood there before, so the lines tell.
    const [old, now] = [place.before, place.after].map((text) => text.split("\n").filter(isLine));
    for (const line of old ?? []) if (now?.includes(line) === false) goes(linePattern(line));
    for (const line of now ?? []) if (old?.includes(line) === false) comes(linePattern(line));
  }
  const paths = [...new Set([...pages.map(({ path }) => path), ...others.flatMap(({ paths: its }) => its)])];
  return {
    checks: [
      ...checks,
      { name: "others-stay", kind: "identical", in: ["**"], but: paths.map(asGlob) },
      { name: "links", kind: "links" },
      { name: "small", kind: "size", lines: 3 * lines + 10, files: paths.length },
    ],
    zone: { may: others.map(({ token }) => asPattern(token)), adds: 0 },
  };
}

function matchesIn(text: string, pattern: string): boolean {
  return new RegExp(pattern, "mu").test(text);
}

const isLine = (line: string) => line.trim().length > 2 && !/^\s*(?:\/\/|#|--\s|\/?\*)/.test(line);

/** A line of a sample, with other spaces, quotes and ends of it, too. */
function linePattern(line: string): string {
  const words = line.trim().replace(/[;,]$/, "").split(/\s+/);
  const parts = words.map((word) => escaped(word).replace(/["'`]/g, "[\"'`]"));
  return `^\\s*${parts.join("\\s+")}[;,]?\\s*$`;
}

/** A link within the docs may be written from another place, or without an ending. */
function patternOf(token: string, { kind }: Place): string {
  if (kind !== "link" || /^[a-z]+:/i.test(token)) return asPattern(token);
  const [path = "", anchor] = token.split("#");
  const last = path.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const page = asPattern(last.replace(/\.(?:mdx?|html)$/, "")).replace(
    /\(\?!\[\\p\{L\}[^)]*\)(?:\(\?![^)]*\))?$/,
    "",
  );
  const end = anchor === undefined ? "/?(?=[)\\s\"'>]|$)" : `/?#${asPattern(anchor)}`;
  return `(?:[/("'\\s]|^)${page}(?:\\.mdx?|\\.html)?${end}`;
}

/** What goes and stands elsewhere, too. To mend it there isn't wrong, though nobody did. */
function elsewhere(places: readonly Place[], pages: readonly ChangedPage[], docs: Texts["docs"]) {
  const own = new Set(pages.map(({ path }) => path));
  const tokens = [...new Set(places.flatMap(({ old }) => old))].filter(
    (token) => token.length >= MIN_DISTINCT,
  );
  return tokens.flatMap((token) => {
    const paths = docs.flatMap(([path, text]) => (!own.has(path) && hasToken(text, token) ? [path] : []));
    return paths.length > 0 && paths.length <= MAX_OTHERS ? [{ token, paths }] : [];
  });
}

function asGlob(path: string): string {
  return path.replace(/[*?[\]{}()!+@|\\]/g, "\\$&");
}
