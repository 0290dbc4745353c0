import { cut } from "../../../src/core/text/text.ts";
import { oneLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { imperative } from "./imperative.ts";
import { inertWords } from "./inert-text.ts";

export const MAX_TITLE_LENGTH = 72;
/**
 * Lines that programs and agents write on the way: warnings, log lines, errors. None of them says
 * what a pull request is about.
 */
const ASIDE = new RegExp(
  String.raw`^\W*(?:\(node:\d+\)|npm (?:warn|err)|(?:[\w-]*warning|warn|error|fatal|info|debug|` +
    String.raw`notice|note|caution|deprecated|deprecation)\b(?: ?\([^)]{0,40}\))?[\]:!]|\[(?:warn|` +
    String.raw`error|info|debug))|^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|[\u26a0\u2757\u274c\u{1f6a8}])`,
  "iu",
);

/** A first line that only says what comes below it. */
const LABEL = new RegExp(
  String.raw`^[\W_]*(?:(?:summary|title|results?|changes|overview|done)` +
    String.raw`|(?:here(?:['’]s| is) )?what (?:i |was )?(?:have )?changed)[\W_]*\n`,
  "i",
);

/** What of a turn a title is made of. */
export type Titled = { summary: string | null; words: string | null; jobId: string };

/**
 * One line of at most 72 characters: the start of the agent's summary as an instruction, warnings
 * and the like passed over, else of the person's words.
 */
export function titleOf({ summary, words, jobId }: Titled, redact: Redact): string {
  const said = firstLine(summary, redact);
  if (said !== null) return oneLine(imperative(said), MAX_TITLE_LENGTH);
  return oneLine(firstLine(words, redact) ?? `Documentation changes of job ${jobId}`, MAX_TITLE_LENGTH);
}

/** The redacted summary without its first line, where the title comes from. */
export function belowTitle(summary: string | null, redact: Redact): string {
  const text = redact(summary ?? "")
    .replace(LABEL, "")
    .trim();
  const [first = "", ...others] = text.split("\n");
  const isTitle = first.length <= 2 * MAX_TITLE_LENGTH && firstLine(summary, redact) === withoutMarks(first);
  return isTitle ? others.join("\n").trim() : text;
}

/** The title of what several turns came to, the oldest first. */
export function wholeTitle(titles: readonly string[]): string {
  const [first = "", ...others] = titles.filter((title, at) => titles.indexOf(title) === at);
  const joined = [first, ...others.map(lowerFirst)].join("; ");
  if (joined.length <= MAX_TITLE_LENGTH) return joined;
  if (others.length === 0) return oneLine(first, MAX_TITLE_LENGTH);
  const more = others.length === 1 ? " and one more change" : ` and ${others.length} more changes`;
  return `${cut(first, MAX_TITLE_LENGTH - more.length)}${more}`;
}

/** A title in the form that the settings ask for, no longer than any other. */
export function formattedTitle(template: string, title: string): string {
  const room = Math.max(20, MAX_TITLE_LENGTH - template.length + "{title}".length);
  return oneLine(
    template.replaceAll("{title}", () => oneLine(title, room)),
    MAX_TITLE_LENGTH,
  );
}

function firstLine(text: string | null, redact: Redact): string | null {
  const lines = redact(text ?? "")
    .replace(LABEL, "")
    .split("\n");
  const line = lines
    .filter((each) => !ASIDE.test(each))
    .map(withoutMarks)
    .find((each) => /[\p{L}\p{N}]/u.test(each));
  return line ?? null;
}

function withoutMarks(line: string): string {
  return oneLine(inertWords(line), 1000)
    .replace(/^[\s#>*\-=_]+/, "")
    .replace(/[*_]+$/, "")
    .replace(/^`([^`]*)`$/, "$1")
    .replace(/(?<=[^.])[.:]$/, "");
}

function lowerFirst(title: string): string {
  return /^\p{Lu}\p{Ll}/u.test(title) ? title.slice(0, 1).toLowerCase() + title.slice(1) : title;
}
