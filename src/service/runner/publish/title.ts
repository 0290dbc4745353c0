import { oneLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { cutAtWord } from "./cut-at-word.ts";
import { inertWords } from "./inert-text.ts";
import { withoutOpeners } from "./openers.ts";

export const MAX_TITLE_LENGTH = 72;
/**
 * Lines that programs and agents write along the way: warnings, log lines, errors. None of them
 * says what a pull request is about.
 */
const ASIDE = new RegExp(
  String.raw`^\W*(?:\(node:\d+\)|npm (?:warn|err)|(?:[\w-]*warning|warn|error|fatal|info|debug|` +
    String.raw`notice|note|caution|deprecated|deprecation)\b(?: ?\([^)]{0,40}\))?[\]:!]|\[(?:warn|` +
    String.raw`error|info|debug))|^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|[\u26a0\u2757\u274c\u{1f6a8}])`,
  "iu",
);

/** A first line that only announces what follows. */
const LABEL = new RegExp(
  String.raw`^[\W_]*(?:(?:summary|title|results?|changes|overview|done)` +
    String.raw`|(?:here(?:['’]s| is) )?what (?:i |was )?(?:have )?changed)[\W_]*\n`,
  "i",
);

/** The parts of a turn that a title is made from. */
export type Titled = { summary: string | null; words: string | null; jobId: string };

/** A turn's title, or else one that only names its job. */
export function titleOf(turn: Titled, redact: Redact): string {
  return (
    saidTitle(turn, redact) ?? fittedTitle(`Documentation changes of job ${turn.jobId}`, MAX_TITLE_LENGTH)
  );
}

/**
 * One line of at most 72 characters. It is the beginning of the agent's summary as an instruction,
 * skipping warnings and the like, or else the person's own words. Null if neither says anything.
 */
export function saidTitle({ summary, words }: Omit<Titled, "jobId">, redact: Redact): string | null {
  const said = firstLine(parted(summary, redact).text);
  const title = said === null ? firstLine(redact(words ?? "").replace(LABEL, "")) : imperative(said);
  return title === null ? null : fittedTitle(title, MAX_TITLE_LENGTH);
}

/** The path of a file, and its name. */
const PATH = /(?<![\w/:.@-])(?:\.{0,2}\/)?(?:[\w.@+-]{1,100}\/){1,20}([\w.@+-]{1,100})(?![\w/])/g;

/** Too long a title gets names of files in place of their paths, and ends between two words. */
function fittedTitle(title: string, max: number): string {
  const line = oneLine(title, Infinity);
  return line.length <= max ? line : cutAtWord(line.replaceAll(PATH, "$1"), max);
}

/**
 * The redacted summary without the line that the title is made from. What its agent says of itself
 * comes last.
 */
export function belowTitle(summary: string | null, redact: Redact): string {
  const { text, closing } = parted(summary, redact);
  const [first = "", ...others] = text.split("\n");
  const isTitle = first.length <= 2 * MAX_TITLE_LENGTH && firstLine(text) === withoutMarks(first);
  const below = isTitle ? others.join("\n").trim() : text;
  return [below, ...closing].filter((part) => part !== "").join("\n\n");
}

/** `docs: `, `docs(api)!: `: what follows is no sentence, and linters refuse one. */
const CONVENTIONAL = /^[a-z]+(?:\([^()]*\))?!?: *\{title\}/;

/**
 * A title in the format of the settings, no longer than any other. It is a pull request's and, of
 * the same turn, the commit's.
 */
export function formattedTitle(template: string, title: string): string {
  const room = Math.max(20, MAX_TITLE_LENGTH - template.length + "{title}".length);
  const written = fittedTitle(CONVENTIONAL.test(template) ? lowerFirst(title) : title, room);
  return fittedTitle(
    template.replaceAll("{title}", () => written),
    MAX_TITLE_LENGTH,
  );
}

/** A summary without its label, parted from what its agent says of itself. */
function parted(summary: string | null, redact: Redact): { text: string; closing: string[] } {
  const { text, closing } = withoutOpeners(redact(summary ?? "").replace(LABEL, ""));
  return { text: text.replace(LABEL, "").trim(), closing };
}

function firstLine(text: string): string | null {
  const line = text
    .split("\n")
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

/** A name such as GitHub or API stays as it is. */
export function lowerFirst(title: string): string {
  return /^\p{Lu}\p{Ll}+(?!\p{L})/u.test(title) ? title.slice(0, 1).toLowerCase() + title.slice(1) : title;
}

/** The verbs that changes of documentation begin with. */
const VERBS = `add adjust align allow bump change clarify clean complete convert correct create delete
  describe document drop enable expand explain extend fix format improve include insert
  introduce label link list mark mention merge move name note order point refresh remove
  rename reorder rephrase replace restore restructure revert reword rewrite shorten simplify sort
  state swap sync tidy translate trim turn unify update use warn write`.split(/\s+/);
const IRREGULAR = {
  made: "make",
  rewritten: "rewrite",
  rewrote: "rewrite",
  written: "write",
  wrote: "write",
};

/** The forms of these verbs at the beginning of a sentence, each with its verb. */
const FORMS = new Map([
  ...VERBS.flatMap((verb) => endings(verb).map((form) => [form, verb] as const)),
  ...Object.entries(IRREGULAR),
]);
const LEAD = new RegExp(
  String.raw`^(?:(?:ok(?:ay)?|done|sure|title|summary|result)\s*[:.!,–—-]+[*_]*\s*)?` +
    String.raw`(?:(?:i|we)(?:['’]ve| have)?(?: (?:now|also|just|successfully|gone ahead and))? ` +
    String.raw`|successfully |this (?:pull request|pr|change|commit|turn) |changes?: )?`,
  "i",
);

/**
 * Turns a sentence about what was done into an instruction: "I have updated …" becomes "Update …".
 */
function imperative(said: string): string {
  const line = said.slice(LEAD.exec(said)?.[0].length ?? 0) || said;
  const [first = ""] = /^\p{L}+(?![\p{L}-])/u.exec(line) ?? [];
  const start = FORMS.get(first.toLowerCase()) ?? first;
  return start.slice(0, 1).toUpperCase() + start.slice(1) + line.slice(first.length);
}

function endings(verb: string): string[] {
  if (verb.endsWith("e")) return [`${verb}d`, `${verb}s`, `${verb.slice(0, -1)}ing`];
  if (/[^aeiou]y$/.test(verb)) return [`${verb.slice(0, -1)}ied`, `${verb.slice(0, -1)}ies`, `${verb}ing`];
  const stem = ["drop", "swap", "trim"].includes(verb) ? verb + verb.slice(-1) : verb;
  return [`${stem}ed`, `${stem}ing`, /(?:x|s|sh|ch)$/.test(verb) ? `${verb}es` : `${verb}s`];
}
