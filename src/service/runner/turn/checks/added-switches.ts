import { SHOWN_CHARS } from "../../../../shared/contract/reading.ts";
import { redactedLine } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";
import { beyond } from "./varying-lines.ts";

const MAX_LINES = 100;
const HUNK = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/**
 * The lines that a change adds to pages and that match one of these patterns, as
 * `path:line turns a check off: …`. A line that the change also takes away has only moved.
 * `patch` is git's, without context lines. Bounded and redacted.
 */
export function addedSwitches(
  { patch, switches }: { patch: Uint8Array; switches: readonly RegExp[] },
  redact: Redact,
): string[] {
  const added: { at: string; text: string }[] = [];
  const removed = new Map<string, number>();
  let path = "";
  let line = 0;
  let [minus, plus] = [0, 0];
  for (const each of Buffer.from(patch).toString().split("\n")) {
    if (minus + plus === 0) {
      const [, before = "1", from = "0", after = "1"] = HUNK.exec(each) ?? [];
      if (each.startsWith("+++ "))
        path = each
          .slice(4)
          .replace(/^"?b\//, "")
          .replace(/["\t]+$/, "");
      if (!each.startsWith("@@ ")) continue;
      [minus, plus, line] = [Number(before), Number(after), Number(from)];
      continue;
    }
    if (each.startsWith("\\")) continue;
    const text = each.slice(1).trim();
    if (each.startsWith("-")) minus -= 1;
    else plus -= 1;
    if (switches.some((pattern) => pattern.test(text))) {
      if (each.startsWith("-")) removed.set(text, (removed.get(text) ?? 0) + 1);
      else added.push({ at: `${path}:${line}`, text });
    }
    if (each.startsWith("+")) line += 1;
  }
  return beyond(added, removed, ({ text }) => text)
    .slice(0, MAX_LINES)
    .map(({ at, text }) => redactedLine(redact, `${at} turns a check off: ${text}`, SHOWN_CHARS.line));
}
