import { diffLines } from "diff";
import { changedPaths, type Files, textOf } from "../files.ts";
import { chosen } from "./page-parts.ts";

/**
 * A line that the reference brings: `at` is its number, and `old` the line in whose place it is.
 */
type NewLine = { path: string; lines: string[]; at: number; line: string; old: string | null };
type Slip = (line: string, old: string | null, seed: string) => string | null;

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/(?<=\d )days?\b/, "hours"],
  [/\b(a|per) minute\b/, "$1 hour"],
  [/\/min\b/, "/h"],
  [/(?<=\d )seconds\b/, "minutes"],
  [/(?<=\d )minutes\b/, "seconds"],
  [/(?<=\d )ms\b/, "s"],
  [/(?<=\d )times\b/, "days"],
  [/(?<=\d )(?:MB|GB)\b/, "KB"],
];

const changedNumber = (line: string, old: string | null) =>
  [...line.matchAll(/\d+(?:[.,]\d+)*/g)].find(
    ({ 0: number }) => !(old ?? "").match(/\d+(?:[.,]\d+)*/g)?.includes(number),
  );

/** What goes wrong within a change, by its kind. Each of them changes one line. */
export const SLIPS: Readonly<Record<string, Slip>> = {
  "wrong-unit": (line, old) => {
    const number = changedNumber(line, old);
    if (number === undefined) return null;
    const tail = line.slice(number.index);
    const unit = UNITS.find(([pattern]) => pattern.test(tail));
    return unit === undefined ? null : line.slice(0, number.index) + tail.replace(unit[0], unit[1]);
  },
  "wrong-value": (line, old) => {
    const number = changedNumber(line, old);
    if (number === undefined) return null;
    return line.slice(0, number.index) + number[0] + "0" + line.slice(number.index + number[0].length);
  },
  "comment-only": (line, old) =>
    old === null || /^\s*[#|`]/.test(line) ? null : `<!-- ${line.trim()} -->\n${old}`,
  stale: (_line, old) => old,
  flipped: (line) => {
    const made = line.replace(/\b(is|are|can|has|may|takes|listens|needs?|works?|gets?)\b(?! not)/, "$1 not");
    return made === line || /^\s*[|`#{]/.test(line) ? null : made;
  },
  sample: (line) =>
    /^\s*["'{[]|["')\]}];?$/.test(line) && !line.startsWith("|")
      ? line.replace(/["')\]}](?!.*["')\]}])/, "")
      : null,
  neighbor: (line, old, seed) => {
    const kept = [...line.matchAll(/(?<![\w.])\d+(?![\w.])/g)].filter(
      ({ 0: number }) => old?.includes(number) === true,
    );
    const found = chosen(kept, seed, line);
    return found === undefined
      ? null
      : `${line.slice(0, found.index)}9${found[0]}${line.slice(found.index + found[0].length)}`;
  },
  invented: (line) =>
    /^[A-Z][^|`]*\.$/.test(line) ? `${line} Use \`--legacy-mode\` to get the old behavior.` : null,
};

/** Lets one line of the reference go wrong. Null if no line can. */
export function slipped(kind: string, base: Files, reference: Files, seed: string): Files | null {
  const places = newLines(base, reference).flatMap((place) => {
    const changed = SLIPS[kind]?.(place.line, place.old, seed) ?? null;
    return changed === null || changed === place.line ? [] : [{ ...place, changed }];
  });
  // With a single line, "stale" would leave everything as it was.
  if (kind === "stale" && places.length < 2) return null;
  const place = chosen(places, kind, seed);
  if (place === undefined) return null;
  const text = place.lines.toSpliced(place.at, 1, place.changed).join("\n");
  return new Map(reference).set(place.path, Buffer.from(text));
}

function newLines(base: Files, reference: Files): NewLine[] {
  return changedPaths(base, reference).flatMap((path) => {
    const [before, after] = [textOf(base.get(path)), textOf(reference.get(path))];
    if (before === null || after === null) return [];
    const lines = after.split("\n");
    const found: NewLine[] = [];
    let [at, removed] = [0, [] as string[]];
    for (const part of diffLines(before, after)) {
      const its = part.value.replace(/\n$/, "").split("\n");
      if (part.removed) {
        removed = its;
        continue;
      }
      if (part.added) {
        const isPaired = removed.length === its.length;
        found.push(
          ...its.map((line, nth) => ({
            path,
            lines,
            at: at + nth,
            line,
            old: isPaired ? (removed[nth] ?? null) : null,
          })),
        );
      }
      removed = [];
      at += its.length;
    }
    return found.filter(({ line }) => line.trim() !== "");
  });
}
