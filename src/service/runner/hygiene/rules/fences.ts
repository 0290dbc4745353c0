import { lineAt } from "../page.ts";
import { anyOf, eachLine, type Trace, keyOfText, lineTextAt, type Rule, shown } from "../rule.ts";
import { openDelimiters } from "./delimiters.ts";

/** Code blocks without an end, and those that swallow another one's beginning. */
export const openFence: Rule = (page) => {
  if (page.markup === "asciidoc") return openDelimiters(page);
  const found: Trace[] = [];
  for (const [nth, part] of page.parts.entries()) {
    if (part.type !== "codeFenced") continue;
    const fences = [];
    for (let at = nth + 1; (page.parts[at]?.from ?? Infinity) < part.to; at += 1) {
      const inner = page.parts[at];
      if (inner?.type === "codeFencedFenceSequence") fences.push(page.text.slice(inner.from, inner.to));
    }
    const [opening = ""] = fences;
    const first = lineTextAt(page, part.from);
    if (fences.length < 2) {
      found.push({
        at: part.from,
        key: keyOfText(first),
        says: `The code block that begins with ${shown(first)} has no end.`,
      });
      continue;
    }
    const opens = new RegExp(String.raw`^ {0,3}${opening[0] ?? "~"}{${opening.length},}[ \t]*[A-Za-z]`);
    const lines = page.text.slice(part.from, part.to).split("\n").slice(1);
    const swallowed = lines.findIndex((line) => opens.test(line));
    if (swallowed < 0) continue;
    const line = lines[swallowed] ?? "";
    found.push({
      at: page.starts[lineAt(page, part.from) + swallowed] ?? part.from,
      key: keyOfText(line),
      says: `${shown(line)} stands inside another code block, which has no end before it.`,
    });
  }
  return found;
};

type Kind = { open: RegExp; close: RegExp };
/** Boxes and parts by lines of their own. The first group names what has to be closed. */
const CONTAINERS: readonly Kind[] = [
  { open: /^\s*(:{3,})\s*[\w{[]/, close: /^\s*(:{3,})\s*$/ },
  { open: /^(\/{3,})\s*\w/, close: /^(\/{3,})\s*$/ },
];
const INLINE: readonly Kind[] = [
  { open: /\{%-?\s*(\w+)\b[^%]{0,500}%\}/g, close: /\{%-?\s*end(\w+)\s*-?%\}/g },
  {
    open: /\{\{[<%]\s*([\w-]+)\b(?:[^/<>%]|\/(?!\s*[>%])){0,500}[>%]\}\}/g,
    close: /\{\{[<%]\s*\/\s*([\w-]+)\s*[>%]\}\}/g,
  },
];

/** The names of boxes that every site closes. Others may be made by a line alone. */
const BOXES = anyOf(
  "note, tip, info, warning, danger, caution, important, details, success, error, hint, example, question, " +
    "abstract, code-group, tabs?, steps?, callout",
);
const BOX = new RegExp(String.raw`^\s*[:/]{3,}\s*\{?${BOXES}\b`, "i");

/** Boxes, tabs and shortcodes that aren't closed, on pages that close all others. */
export const openContainer: Rule = (page) => {
  if (page.markup !== "markdown" && page.markup !== "mdx") return [];
  const found: Trace[] = [];
  for (const { open, close } of CONTAINERS) {
    const stack: { at: number; line: string }[] = [];
    let closes = false;
    let isOdd: { at: number; line: string } | null = null;
    for (const { line, at } of eachLine(page, page.prose)) {
      if (close.test(line)) {
        closes = true;
        if (stack.pop() === undefined) isOdd ??= { at, line };
      } else if (open.test(line)) stack.push({ at, line });
    }
    const odd = stack[0] ?? isOdd;
    if (odd == null || !(closes || BOX.test(odd.line))) continue;
    const what = stack.length > 0 ? "opens a box that isn't closed" : "closes a box that isn't open";
    found.push({
      at: odd.at,
      key: `${open.source} ${stack.length > 0}`,
      says: `${shown(odd.line)} ${what}.`,
    });
  }
  for (const { open, close } of INLINE) {
    const opened = namesIn(page.prose, open);
    for (const [name, closes] of namesIn(page.prose, close)) {
      const opens = opened.get(name) ?? [];
      if (opens.length === closes.length) continue;
      const at = (opens.length > closes.length ? opens : closes).at(-1) ?? 0;
      const what =
        opens.length > closes.length
          ? "opened more often than it is closed"
          : "closed more often than it is opened";
      found.push({
        at,
        key: `${name} ${opens.length > closes.length}`,
        says: `The block "${name}" is ${what}.`,
      });
    }
  }
  return found;
};

function namesIn(text: string, pattern: RegExp): Map<string, number[]> {
  const names = new Map<string, number[]>();
  for (const { 1: name = "", index } of text.matchAll(pattern))
    names.set(name, [...(names.get(name) ?? []), index]);
  return names;
}
