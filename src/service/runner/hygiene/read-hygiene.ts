import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import type { HygieneRule } from "../../config/hygiene-rules.ts";
import { namesOfQuoted } from "../publish/slack-words.ts";
import type { RunTurnInput } from "../runner.ts";
import { type TextChange, hygieneFindings } from "./hygiene.ts";

/** A turn's change, and what its agent was told. */
type HygieneInput = {
  pages: readonly TextChange[];
  asked: Pick<RunTurnInput, "prompt" | "words" | "earlierTurns">;
  off: readonly HygieneRule[];
};

const MAX_LINES = 1000;

/** What hygiene finds in a change, a line each, and how many lines there are. Redacted. */
export function readHygiene(
  { pages, asked, off }: HygieneInput,
  redact: Redact,
): { lines: string[]; count: number } {
  // A client that doesn't tell what the requester typed may have sent only that.
  const words = [...asked.earlierTurns, asked].map((each) => each.words ?? each.prompt).join("\n");
  const facts = { words, quotedNames: namesOfQuoted(asked) };
  const found = hygieneFindings({ pages, facts, off });
  const lines = found
    .slice(0, MAX_LINES)
    .map(({ path, line, says }) => redactedLine(redact, `${path}:${line} ${says}`, SHOWN_CHARS.line));
  return { lines, count: found.length };
}
