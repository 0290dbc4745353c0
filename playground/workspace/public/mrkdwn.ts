import { readableDate } from "./time.ts";

/** A piece of Slack's markup. See https://docs.slack.dev/messaging/formatting-message-text */
export type Markup =
  | { type: "text"; text: string }
  | { type: "bold" | "italic" | "strike" | "quote" | "code" | "pre"; children: Markup[] }
  | { type: "link"; url: string; label: string | null }
  | { type: "user" | "channel" | "group"; id: string; label: string | null }
  | { type: "broadcast"; range: string };

const FENCE = /```\n?([\s\S]+?)\n?```/g;
const styles: ReadonlyMap<string, "bold" | "italic" | "strike"> = new Map([
  ["*", "bold"],
  ["_", "italic"],
  ["~", "strike"],
]);
const TOKEN = /<([^<>\n]+)>/y;
const INLINE_CODE = /`([^`\n]+)`/y;
const BARE_URL = /https?:\/\/(?:(?!&[lg]t;)[^\s<>])*(?!&[lg]t;)[^\s<>.,;:!?)\]'"*_~`]/y;
const BOUNDARY = /[\s\p{P}\p{S}]/u;

/** Reads markup. With `verbatim`, a text that only looks like a URL stays text. */
export function parseMrkdwn(text: string, { verbatim = false }: { verbatim?: boolean } = {}): Markup[] {
  const nodes: Markup[] = [];
  let at = 0;
  for (const match of text.matchAll(FENCE)) {
    nodes.push(...parseLines(text.slice(at, match.index).replace(/\n$/, ""), verbatim));
    nodes.push({ type: "pre", children: parseCode(match[1] ?? "") });
    at = match.index + match[0].length;
    if (text[at] === "\n") at += 1;
  }
  nodes.push(...parseLines(text.slice(at), verbatim));
  return nodes;
}

/**
 * Reads lines. Those that start with `>` are a quotation, and so are those with `&gt;`, because
 * Slack stores typed text in that form.
 */
function parseLines(text: string, verbatim: boolean): Markup[] {
  if (text === "") return [];
  const nodes: Markup[] = [];
  let plain: string[] = [];
  let quoted: string[] = [];
  function flush() {
    if (plain.length > 0) nodes.push(...parseInline(plain.join("\n"), verbatim));
    if (quoted.length > 0) nodes.push({ type: "quote", children: parseInline(quoted.join("\n"), verbatim) });
    plain = [];
    quoted = [];
  }
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const rest = /^(?:&gt;|>){3} ?/.exec(line);
    if (rest !== null) {
      flush();
      quoted = [line.slice(rest[0].length), ...lines.slice(index + 1)];
      break;
    }
    const quote = /^(?:&gt;|>) ?/.exec(line);
    if (quote === null) {
      if (quoted.length > 0) flush();
      plain.push(line);
    } else {
      if (plain.length > 0) flush();
      quoted.push(line.slice(quote[0].length));
    }
  }
  flush();
  return nodes;
}

function parseInline(text: string, verbatim: boolean): Markup[] {
  const nodes: Markup[] = [];
  let plain = "";
  let at = 0;
  function push(node: Markup, length: number): void {
    if (plain !== "") nodes.push({ type: "text", text: decodeShownEntities(plain) });
    plain = "";
    nodes.push(node);
    at += length;
  }
  while (at < text.length) {
    const character = text.charAt(at);
    const special = matchAt(TOKEN, text, at);
    if (special !== null) {
      push(readToken(special[1] ?? ""), special[0].length);
      continue;
    }
    const code = isBoundary(text[at - 1]) ? matchAt(INLINE_CODE, text, at) : null;
    if (code !== null) {
      push({ type: "code", children: parseCode(code[1] ?? "") }, code[0].length);
      continue;
    }
    const url = verbatim || !isBoundary(text[at - 1]) ? null : matchAt(BARE_URL, text, at);
    if (url !== null) {
      push({ type: "link", url: decodeShownEntities(url[0]), label: null }, url[0].length);
      continue;
    }
    const style = styles.get(character);
    const end = style === undefined ? -1 : closingMark(text, at);
    if (style !== undefined && end !== -1) {
      const children = parseInline(text.slice(at + 1, end), verbatim);
      push({ type: style, children }, end + 1 - at);
      continue;
    }
    plain += character;
    at += 1;
  }
  if (plain !== "") nodes.push({ type: "text", text: decodeShownEntities(plain) });
  return nodes;
}

/** Reads code, in which only links are markup. */
function parseCode(text: string): Markup[] {
  return text.split(/(<(?:https?:|mailto:)[^<>\n]+>)/).flatMap((part, index): Markup[] => {
    if (part === "") return [];
    return index % 2 === 1
      ? [readToken(part.slice(1, -1))]
      : [{ type: "text", text: decodeShownEntities(part) }];
  });
}

/**
 * Returns the place where the mark at `start` is closed, or -1. Marks stand at the edges of words
 * and close on their own line.
 */
function closingMark(text: string, start: number): number {
  const mark = text[start];
  const next = text[start + 1];
  if (!isBoundary(text[start - 1]) || next === undefined || /\s/.test(next) || next === mark) return -1;
  for (let at = start + 1; at < text.length; at += 1) {
    const skipped = matchAt(TOKEN, text, at) ?? matchAt(INLINE_CODE, text, at);
    if (skipped !== null) {
      at += skipped[0].length - 1;
      continue;
    }
    if (text[at] === "\n") return -1;
    if (text[at] !== mark || at === start + 1) continue;
    if (!/\s/.test(text.charAt(at - 1)) && isBoundary(text[at + 1])) return at;
  }
  return -1;
}

function isBoundary(character: string | undefined): boolean {
  return character === undefined || BOUNDARY.test(character);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function readToken(content: string): Markup {
  const bar = content.indexOf("|");
  const target = bar === -1 ? content : content.slice(0, bar);
  const label = bar === -1 ? null : decodeShownEntities(content.slice(bar + 1));
  if (target.startsWith("@")) return { type: "user", id: target.slice(1), label };
  if (target.startsWith("#")) return { type: "channel", id: target.slice(1), label };
  if (target.startsWith("!subteam^")) return { type: "group", id: target.slice(9), label };
  if (target === "!here" || target === "!channel" || target === "!everyone") {
    return { type: "broadcast", range: target.slice(1) };
  }
  if (target.startsWith("!date^")) {
    const [, seconds = "", format = ""] = target.split("^");
    return { type: "text", text: readableDate(seconds, format) ?? label ?? "" };
  }
  if (target.startsWith("!")) return { type: "text", text: label ?? `<${decodeShownEntities(content)}>` };
  return { type: "link", url: decodeShownEntities(target), label };
}

/** Decodes the three entities that Slack encodes. It does so once: `&amp;lt;` becomes `&lt;`. */
function decodeShownEntities(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
