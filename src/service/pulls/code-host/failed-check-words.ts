import { type FailedCheck, MAX_URL_CHARS } from "../../../shared/contract/pull-request.ts";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { cut, startOf } from "../../../shared/text/text.ts";
import { oneLine, printableText } from "../../base/printable-text.ts";
import type { SaidByCheck } from "./github-failed-checks.ts";
import { toName } from "./github-pull-facts.ts";

/** Of each text. More isn't read, because this thread serves everybody. */
const MAX_READ_CHARS = 8000;
const MAX_LINES = 5;
const MAX_ANNOTATIONS = 3;

/**
 * Why a check failed: the first lines of its text, or else of its annotations. No line is repeated.
 */
export function toReason({ name, url, title, summary, annotations }: SaidByCheck): FailedCheck {
  const notes = annotations.slice(0, MAX_ANNOTATIONS).map(({ path, line, message }) => {
    const where = line === null ? toName(path) : `${toName(path)}:${line}`;
    return `${where}: ${oneLine(startOf(message, MAX_READ_CHARS), SHOWN_CHARS.line)}`;
  });
  const lines = [title, summary]
    .flatMap((text) => printableText(startOf(text, MAX_READ_CHARS)).split("\n"))
    .concat(notes)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const shown = [...new Set(lines)].slice(0, MAX_LINES);
  return {
    name: toName(name),
    words: cut(shown.join("\n"), SHOWN_CHARS.reason),
    // A cut address leads elsewhere.
    url: url !== null && url.length <= MAX_URL_CHARS ? url : null,
  };
}
