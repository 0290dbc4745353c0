/**
 * What differs between two runs of a tool on the same commit is no finding: a run's id, the name of
 * a temporary folder, the number of a process. This finds out what does, by comparing runs.
 */

/** One part of a line: a UUID, a word or a number, or a single other character. */
const PARTS = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\p{L}\p{N}_]+|[^\p{L}\p{N}_]/giu;
/** Takes the place of a part that looks like an id. No line has it. */
const ANY = "\0";

/** The lines of all runs of one tool. */
type Variation = {
  /** The line with {@link ANY} in place of what differs between runs. */
  masked: (line: string) => string;
  /** True if the runs differ in more than ids, so that a new line says nothing. */
  isTooMuch: boolean;
  /** True if a line differs from one of the runs' in ids alone. */
  isNear: (line: string) => boolean;
};

/**
 * Compares runs on the same commit. `changed` are words that name what the change is about: they
 * are never taken for an id.
 */
export function variationOf(runs: readonly (readonly string[])[], changed: ReadonlySet<string>): Variation {
  const [first = [], ...others] = runs;
  const shapes = new Set(runs.flat().map(shapeOf));
  const isNear = (line: string) => shapes.has(shapeOf(line));
  if (others.length === 0) return { masked: (line) => line, isTooMuch: false, isNear };

  /** For each shape, the parts that were seen at each place that differs. */
  const varying = new Map<string, Map<number, Set<string>>>();
  for (const other of others) {
    const [gone, come] = [difference(first, other), difference(other, first)].map(byShape);
    for (const [shape, lines] of gone ?? []) {
      const places = varying.get(shape) ?? new Map<number, Set<string>>();
      varying.set(shape, places);
      for (const [at, seen] of differingPlaces(lines, come?.get(shape) ?? [])) {
        places.set(at, new Set([...(places.get(at) ?? []), ...seen]));
      }
    }
  }
  const masked = (line: string) => {
    const places = varying.get(shapeOf(line));
    if (places === undefined) return line;
    const parts = partsOf(line);
    for (const [at, seen] of places) {
      if (!isAlike(parts[at] ?? "", seen, changed)) return line;
      parts[at] = ANY;
    }
    return parts.join("");
  };
  const known = first.map(masked);
  const isTooMuch = others.some((other) => {
    const lines = other.map(masked);
    return difference(known, lines).length > 0 || difference(lines, known).length > 0;
  });
  return { masked, isTooMuch, isNear };
}

/** How often each line is there, in the run that has it most often. */
export function mostOf(runs: readonly (readonly string[])[]): Map<string, number> {
  const most = new Map<string, number>();
  for (const run of runs) {
    for (const [line, count] of countsOf(run)) most.set(line, Math.max(count, most.get(line) ?? 0));
  }
  return most;
}

/** Those of `some` whose keys aren't `known`, each as often as there are more than known. */
export function beyond<One>(
  some: readonly One[],
  known: ReadonlyMap<string, number>,
  keyOf: (one: One) => string,
): One[] {
  const seen = new Map<string, number>();
  return some.filter((one) => {
    const key = keyOf(one);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    return times > (known.get(key) ?? 0);
  });
}

/** The lines of `some` that aren't in `others`, each as often as that. */
function difference(some: readonly string[], others: readonly string[]): string[] {
  return beyond(some, countsOf(others), (line) => line);
}

function countsOf(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

function byShape(lines: readonly string[]): Map<string, string[]> {
  return Map.groupBy(lines, shapeOf);
}

/** The line with {@link ANY} in place of each part that could be an id. */
function shapeOf(line: string): string {
  return partsOf(line)
    .map((part) => (isIdLike(part) ? ANY : part))
    .join("");
}

function partsOf(line: string): string[] {
  return line.match(PARTS) ?? [];
}

/** What Python calls temporary files (`tempfile.py`: `_RandomNameSequence`). */
const PYTHON_TEMPORARY = /^tmp[a-z\d_]{8}$/;

/** True for parts with digits, and for letters that are mixed in no way of writing a word. */
function isIdLike(part: string): boolean {
  const isMixed = !/^(?:\p{Lu}?\P{Lu}*|\P{Ll}*)$/u.test(part);
  return /\p{N}/u.test(part) || isMixed || PYTHON_TEMPORARY.test(part);
}

/** The places at which lines of one shape differ between two runs, with what stands there. */
function differingPlaces(some: readonly string[], others: readonly string[]): Map<number, Set<string>> {
  const [one, other] = [some.map(partsOf), others.map(partsOf)];
  const places = new Map<number, Set<string>>();
  for (const [at, part] of (one[0] ?? []).entries()) {
    if (!isIdLike(part)) continue;
    const column = (rows: readonly string[][]) => rows.map((parts) => parts[at] ?? "");
    const [here, there] = [column(one), column(other)];
    if (difference(here, there).length > 0 || difference(there, here).length > 0) {
      places.set(at, new Set([...here, ...there]));
    }
  }
  return places;
}

/** True if a part may be another id of the same kind. */
function isAlike(part: string, seen: ReadonlySet<string>, changed: ReadonlySet<string>): boolean {
  if (seen.has(part)) return true;
  const all = [...seen];
  if (/^\d+$/.test(part) && all.every((each) => /^\d+$/.test(each))) return true;
  const lengths = all.map(({ length }) => length);
  const isAsLong = part.length >= Math.min(...lengths) && part.length <= Math.max(...lengths);
  const isHex = all.some((each) => !/^[0-9a-f-]+$/i.test(each)) || /^[0-9a-f-]+$/i.test(part);
  return isAsLong && isHex && !changed.has(part);
}

/** The words that name these paths, for {@link variationOf}. */
export function wordsOfPaths(paths: readonly string[]): Set<string> {
  return new Set(paths.flatMap(partsOf).filter((part) => /\p{L}/u.test(part)));
}
