import { DIFF_LIMITS } from "../../../shared/contract/diff.ts";
import { cut } from "../../../shared/text/text.ts";
import type { Redact } from "../../base/redaction.ts";

/** The beginning of a diff, redacted, with short lines. */
export function shownDiff(written: Buffer, redact: Redact): { diff: string; isCut: boolean } {
  const kept: string[] = [];
  let bytes = 0;
  let isCut = false;
  for (const line of redact(written.toString("utf8")).split("\n")) {
    const shown = cut(line, DIFF_LIMITS.lineChars);
    isCut ||= shown !== line;
    bytes += Buffer.byteLength(JSON.stringify(shown));
    if (bytes > DIFF_LIMITS.bytes) return { diff: kept.join("\n"), isCut: true };
    kept.push(shown);
  }
  return { diff: kept.join("\n"), isCut };
}
