import { redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";

const MAX_LEFT_OUT = 50;

/** Paths for a result: redacted, and limited in number and length. */
export function boundedPaths(paths: readonly string[], redact: Redact): string[] {
  const shown = paths.slice(0, MAX_LEFT_OUT).map((path) => redactedLine(redact, path, 200));
  const more = paths.length - shown.length;
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}
