import { redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";

const MAX_LEFT_OUT = 50;

/** Paths for a result: redacted, and limited in number and length. */
export function boundedPaths(paths: readonly string[], redact: Redact): string[] {
  const shown = paths.slice(0, MAX_LEFT_OUT).map((path) => redactedLine(redact, path, 200));
  return withMore(shown, paths.length - shown.length);
}

/** Several such lists as one. */
export function joinedPaths(lists: readonly (readonly string[])[]): string[] {
  let more = 0;
  const paths = new Set<string>();
  for (const path of lists.flat()) {
    const count = /^… and (\d{1,9}) more$/.exec(path)?.[1];
    if (count === undefined) paths.add(path);
    else more += Number(count);
  }
  const shown = [...paths].slice(0, MAX_LEFT_OUT);
  return withMore(shown, more + paths.size - shown.length);
}

function withMore(shown: string[], more: number): string[] {
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}
