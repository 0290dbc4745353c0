import { cut } from "../../../../shared/text/text.ts";
import { oneLine, redactedText } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";
import type { SaidByCheck } from "../../../pulls/code-host/github-failed-checks.ts";
import type { HostedThread, SaidByAccount } from "../../../pulls/code-host/github-reviews.ts";

/** The most threads that a turn answers. */
const MAX_THREADS = 20;
/** The most bytes that are passed on. */
const MAX_BYTES = 60 * 1024;
const MAX_WORDS_CHARS = 8000;
const MAX_HUNK_CHARS = 2000;
const MAX_HUNK_LINES = 20;
const MAX_PATH_CHARS = 300;
const MAX_ANNOTATIONS = 30;
const MAX_MESSAGE_CHARS = 500;
const IS_CUT = "(There is more of it. What is left out isn't part of this request.)";
const LACKS_EARLIER = "(It has earlier comments, which are left out.)";

export type ReviewMaterialInput = {
  threads: readonly Pick<HostedThread, "path" | "line" | "hunk" | "comments" | "lacksEarlier">[];
  opinions: readonly SaidByAccount[];
  checks: readonly SaidByCheck[];
};

/**
 * Quotes for an agent what people and checks say about a pull request: without secrets, and with a
 * mark before each line, so that nothing in it looks like a word of ours. It has the first
 * `threads` of the threads. `isCut` is true if something is left out, and the agent is told where.
 */
export function reviewMaterial(
  { threads, opinions, checks }: ReviewMaterialInput,
  redact: Redact,
): { text: string; threads: number; isCut: boolean } {
  const parts: string[] = [];
  let room = MAX_BYTES;
  const add = (part: string) => {
    const bytes = Buffer.byteLength(part);
    if (bytes > room) return false;
    parts.push(part);
    room -= bytes;
    return true;
  };
  let shown = 0;
  for (const thread of threads.slice(0, MAX_THREADS)) {
    if (!add(threadText(thread, shown + 1, redact))) break;
    shown += 1;
  }
  const others = [
    ...opinions
      .filter(({ words }) => words.trim() !== "")
      .map((said) => `A review that asks for changes. ${saidText(said, redact)}`),
    ...checks.map((check) => checkText(check, redact)),
  ];
  const added = others.filter(add).length;
  const isShort = shown < threads.length || added < others.length;
  if (isShort) parts.push("(There is more than fits. What is left out isn't part of this request.)");
  const text = parts.join("\n\n");
  const isCut = isShort || [IS_CUT, LACKS_EARLIER].some((mark) => text.includes(`\n${mark}`));
  return { text, threads: shown, isCut };
}

function threadText(
  { path, line, hunk, comments, lacksEarlier }: ReviewMaterialInput["threads"][number],
  number: number,
  redact: Redact,
): string {
  const where = oneLine(redact(path.slice(0, MAX_WORDS_CHARS)), MAX_PATH_CHARS);
  const place = line === null ? "none of the lines that are there now" : `line ${line}`;
  const around = redactedText(redact, hunk, MAX_WORDS_CHARS).split("\n").slice(-MAX_HUNK_LINES).join("\n");
  const texts = [
    `Comment ${number}, about ${JSON.stringify(where)}, ${place}:`,
    ...(around === "" ? [] : [quotedLines(cut(around, MAX_HUNK_CHARS))]),
    ...(lacksEarlier === true ? [LACKS_EARLIER] : []),
    ...comments.map((said) => saidText(said, redact)),
  ];
  return texts.join("\n");
}

function saidText({ login, words }: SaidByAccount, redact: Redact): string {
  return `${nameOf(login)} wrote:\n${quotedStart([words], redact)}`;
}

function checkText({ name, title, summary, annotations }: SaidByCheck, redact: Redact): string {
  const notes = annotations.slice(0, MAX_ANNOTATIONS).map(({ path, line, message }) => {
    const where = line === null ? path : `${path}:${line}`;
    return cut(
      redactedText(redact, `${where}: ${message}`, MAX_MESSAGE_CHARS).replaceAll("\n", " "),
      MAX_MESSAGE_CHARS,
    );
  });
  const said = [title, summary, ...notes].filter((text) => text.trim() !== "");
  const named = JSON.stringify(oneLine(redact(name.slice(0, MAX_WORDS_CHARS)), MAX_PATH_CHARS));
  if (said.length === 0) return `The check ${named} failed, and doesn't say why.`;
  const more = annotations.length > MAX_ANNOTATIONS ? `\n${IS_CUT}` : "";
  return `The check ${named} failed:\n${quotedStart(said, redact)}${more}`;
}

/** The beginning of each text, quoted. If there is more, that is said outside of the quote. */
function quotedStart(texts: readonly string[], redact: Redact): string {
  const starts = texts.map((text) => redactedText(redact, text, MAX_WORDS_CHARS + 1));
  const quote = quotedLines(starts.map((start) => cut(start, MAX_WORDS_CHARS)).join("\n"));
  return starts.some(({ length }) => length > MAX_WORDS_CHARS) ? `${quote}\n${IS_CUT}` : quote;
}

function nameOf(login: string): string {
  return /^[\w-]{1,100}$/.test(login) ? login : "Somebody";
}

/** The text with a mark before each line, so that nothing in it looks like a word of ours. */
export function quotedLines(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}
