import type { Segment } from "../../rules/turn/request.ts";

/** Punctuation that only addresses: "@docs-agent: …", "@docs-agent - …". Not that of `:+1:`. */
const AFTER_NAME = /^[^\S\n]*(?!:[\p{L}\p{N}_+'-]+:)(?:[:,;：，、]|[-–—!.]+(?=\s|$))/u;
const BEFORE_NAME = /[,;:：，、–—][^\S\n]*$|\s-+[^\S\n]*$/u;
/** Nothing but emphasis, a bullet or a quotation mark. */
const NO_WORDS = /^[\s*_~>•"'“‘«(`-]*$/;
const ENDS_SENTENCE = /^[\s]*[.!?…。！？]*\s*$/;
/** Punctuation of the sentence that goes on. Not that of `:pray:` or `.gitignore`. */
const GOES_ON = /^[^\S\n]*(?:[,;)\]}，、。！？]|[:.!?]+(?=\s|$))/u;
const PAIRS = ["**", "__", "~~", "``", '""', "''", "“”", "‘’", "«»", "()", "[]", "{}"];

/** True if a message mentions the app. */
export function mentionsApp(segments: readonly Segment[], botUserId: string | undefined): boolean {
  return indexOfMention(segments, botUserId) !== -1;
}

/**
 * A message without the mentions of the app, the punctuation that only belonged to them, and the
 * emphasis that has nothing left in it.
 */
export function withoutMention(segments: readonly Segment[], botUserId: string | undefined): Segment[] {
  const rest = [...segments];
  for (let mentions = 0; mentions < MENTIONS_MAX; mentions += 1) {
    const at = indexOfMention(rest, botUserId);
    if (at === -1) return rest;
    const [before, after] = [rest[at - 1], rest[at + 1]];
    const hasBefore = before?.kind === "text";
    const hasAfter = after?.kind === "text";
    const [start, startNear] = splitAt(hasBefore ? before.text : "", -NEAR);
    const [endNear, end] = splitAt(hasAfter ? after.text : "", NEAR);
    const near = joined(startNear, endNear, {
      isFirst: start === "" && at === (hasBefore ? 1 : 0),
      isLast: end === "" && at === rest.length - (hasAfter ? 2 : 1),
    });
    const text = start + near + end;
    const from = hasBefore ? at - 1 : at;
    rest.splice(from, (hasBefore ? 1 : 0) + 1 + (hasAfter ? 1 : 0), { kind: "text", text });
  }
  return rest.filter((segment) => indexOfMention([segment], botUserId) === -1);
}

/** The punctuation of more mentions stays. */
const MENTIONS_MAX = 50;

/** How much of a text around a mention can belong to it. Looking at more could take long. */
const NEAR = 200;

/** A text in two. A negative index counts from the end. */
function splitAt(text: string, index: number): [string, string] {
  const at = index < 0 ? Math.max(0, text.length + index) : index;
  return [text.slice(0, at), text.slice(at)];
}

function indexOfMention(segments: readonly Segment[], botUserId: string | undefined): number {
  return segments.findIndex((segment) => segment.kind === "person" && segment.id === botUserId);
}

/** The text around a mention. `isFirst` and `isLast` say if nothing else is before or after it. */
function joined(before: string, after: string, { isFirst, isLast }: Record<"isFirst" | "isLast", boolean>) {
  let [start, end] = [before, after];
  while (PAIRS.includes((start.at(-1) ?? "") + (end[0] ?? " "))) {
    [start, end] = [start.slice(0, -1), end.slice(1)];
  }
  if (isFirst && NO_WORDS.test(start)) return (start.trim() === "" ? "" : start) + afterName(end);
  if (isLast && ENDS_SENTENCE.test(end)) return start.replace(BEFORE_NAME, "").trimEnd() + end.trim();
  const isApart = /\s$/.test(start) || /^\s/.test(end);
  start = start.replace(/[^\S\n]+$/, "");
  if (GOES_ON.test(end)) return start.replace(/[,;:]$/, "") + end.trimStart();
  const isTogether = !isApart || /[\n(["“‘«*_~`{]$/.test(start) || end.startsWith("\n");
  return `${start}${isTogether ? "" : " "}${end.replace(/^[^\S\n]+/, "")}`;
}

function afterName(text: string): string {
  let rest = text;
  for (let next = rest.replace(AFTER_NAME, ""); next !== rest; next = rest.replace(AFTER_NAME, ""))
    rest = next;
  return rest.trimStart();
}
