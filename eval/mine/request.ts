import type { Issues } from "./issues.ts";
import type { Landed } from "./history.ts";
import { topicsOf } from "./words.ts";

/**
 * What somebody would have asked for: the words of an issue, or a commit's own. Those say what
 * changed, so they are a stratum by themselves.
 */
export type Request = {
  from: "issue" | "told";
  /** The words without what was added to them. */
  words: string;
  text: string;
};

const MAX_WORDS = 1200;
const MAX_ISSUE = 4000;
const TRAILER = new RegExp(
  [
    String.raw`^(?:[\w-]+-by|change-id|cc|see|ref(?:s|erences)?|related(?: to)?|pr|link|🤖[^:]*)\s*:`,
    String.raw`^generated with\b`,
    "^🤖",
    String.raw`^https?:\/\/\S+$`,
  ].join("|"),
  "i",
);
const CLOSES = String.raw`\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b[:\s]+(?:issue\s+)?`;
const CLOSING = new RegExp(
  String.raw`${CLOSES}(?:(?:[\w.-]+\/[\w.-]+)?#\d+|https?:\/\/\S+\/(?:issues|pull)\/\d+)[.,;]?`,
  "gi",
);
const NUMBER = /\s*\(?(?:\b(?:gh|pr|see|issue)[- ]?)?(?<![\w/&])#\d+\)?/gi;

/** The words of a commit's message as a person would say them, without what its tools add. */
export function messageWords({ subject, body }: Pick<Landed, "subject" | "body">): string {
  const isMerge = /^Merge (?:pull request|PR) #\d+/i.test(subject);
  const lines = withoutComments(body)
    .split("\n")
    // Git hosts list the squashed commits with stars, and templates bring boxes.
    .filter((line) => !TRAILER.test(line.trim()) && !/^\s*(?:\* |- \[[ x]\]|-{3,}|#)/i.test(line));
  const text = [isMerge ? "" : subject, lines.join("\n")]
    .map((part) => part.replace(CLOSING, " ").replace(NUMBER, "").trim())
    .filter((part) => part !== "")
    .map((part) => asWish(withoutPrefix(part)))
    .join("\n\n");
  return cut(tidy(text), MAX_WORDS);
}

/** The words of an issue as they were written, without what a template says about itself. */
function issueWords({ title, body }: { title: string; body: string | null }): string {
  const said = withoutComments(body ?? "").replace(/^\s*- \[[ x]\].*$/gim, "");
  return cut(tidy(`${withoutPrefix(title)}\n\n${said}`), MAX_ISSUE);
}

function withoutComments(text: string): string {
  return text.replace(/\r/g, "").replace(/<!--[^]*?(?:-->|$)/g, "");
}

function withoutPrefix(text: string): string {
  return text
    .replace(/^(?:[^\p{L}\p{N}`"'<([@/-]|:\w+:)+\s*/u, "")
    .replace(/^\[[\w /-]+\]:?\s*/, "")
    .replace(
      /^(?:docs?|fix|chore|feat|style|refactor|perf|ci|build|test|website|i18n)(?:\([^)]*\))?!?:\s*/i,
      "",
    );
}

const DONE =
  /^(fix|add|updat|chang|remov|correct|improv|clarif|mention|renam|replac|us)(?:e[sd]|ied|ies|ing|ed|s|d)\b/i;

/** "Fixed the port" becomes "Fix the port". */
function asWish(text: string): string {
  return text.replace(DONE, (_all, stem: string) => `${stem}${ENDINGS[stem.toLowerCase()] ?? ""}`);
}

const ENDINGS: Readonly<Record<string, string>> = {
  updat: "e",
  chang: "e",
  remov: "e",
  improv: "e",
  clarif: "y",
  renam: "e",
  replac: "e",
  us: "e",
};

function tidy(text: string): string {
  return text
    .replace(/(?<![\w`])@(?=[\w-]+(?![\w/-]))[\w-]+/g, "somebody")
    .replace(/[ \t]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.lastIndexOf("\n", most);
  return text.slice(0, end > most / 2 ? end : most).trim();
}

/** Takes out what a text says to write, if it stands where that can be taken out. */
function withoutAnswer(text: string, token: string): string {
  const its = `["'\`]*${RegExp.escape(token)}["'\`]*`;
  const end = String.raw`(?=[\s.,;)]|$)`;
  const without = text
    .replace(new RegExp(String.raw`\s*\(\s*${its}\s*\)`, "g"), "")
    .replace(new RegExp(String.raw`\s*(?:->|→|=>)\s*${its}${end}`, "g"), " is wrong, see the code")
    .replace(new RegExp(String.raw`\b(to|with|by|into)\s+${its}${end}`, "g"), "$1 what the code says");
  // Half of an answer would only confuse.
  return without.includes(token) ? text : without;
}

/** With fewer of them, words don't say what they are about anymore. */
const MIN_TOPICS = 2;

/**
 * What a commit's own words ask for, with the pages. Without those of the tokens that the code has,
 * if enough is left.
 */
export function toldRequest(said: string, paths: readonly string[], inCode: readonly string[]): Request {
  const shorter = inCode.reduce(withoutAnswer, said);
  const isShort = topicsOf(shorter).size >= Math.min(MIN_TOPICS, topicsOf(said).size);
  const words = isShort ? shorter : said;
  const pages = paths.length === 1 ? `It's on ${paths[0]}.` : `It's on these pages: ${paths.join(", ")}.`;
  return { from: "told", words, text: `${words}\n\n${pages}` };
}

const LINKED = new RegExp(
  String.raw`${CLOSES}(?:https?:\/\/[^\s/]+\/)?([\w.-]+\/[\w.-]+)?(?:#|\/issues\/)(\d+)`,
  "gi",
);
const MENTIONED = /(?<![\w/&])#(\d+)\b/g;

/** What is known of a commit's issue, and of its pull request. Null if that isn't known. */
export type Linked = { issue: string | null; pull: string | null };

/**
 * The words of the issue that a commit, or the pull request that it names, closes. A pull request's
 * own words are the author's, who knows the answer.
 */
export async function linkedTo(
  { subject, body }: Pick<Landed, "subject" | "body">,
  issues: Issues,
): Promise<Linked> {
  const message = `${subject}\n${body}`;
  const queue: [of: string, number: string, isDeep: boolean][] = [
    ...closedIn(message, false),
    ...[...message.matchAll(MENTIONED)].map(({ 1: number = "" }): [string, string, boolean] => [
      "",
      number,
      false,
    ]),
  ];
  let pull: string | null = null;
  for (const [of, number, isDeep] of queue) {
    const found = await issues(Number(number), of);
    if (found?.isPull === false) return { issue: issueWords(found), pull };
    if (found === null || isDeep) continue;
    pull ??= asWish(messageWords({ subject: found.title, body: found.body ?? "" }));
    queue.push(...closedIn(found.body ?? "", true));
  }
  return { issue: null, pull };
}

function closedIn(text: string, isDeep: boolean): [string, string, boolean][] {
  return [...text.matchAll(LINKED)].map(({ 1: of = "", 2: number = "" }) => [of, number, isDeep]);
}
