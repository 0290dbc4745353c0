import { redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";

const MAX_LEFT_OUT = 50;

/** Paths for a result: redacted, and limited in number and length. */
export function boundedPaths(paths: readonly string[], redact: Redact): string[] {
  return withinMax(
    paths.map((path) => redactedLine(redact, path, 200)),
    0,
  );
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
  return withinMax([...paths], more);
}

function withinMax(paths: readonly string[], others: number): string[] {
  const shown = paths.slice(0, MAX_LEFT_OUT);
  const more = others + paths.length - shown.length;
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}
