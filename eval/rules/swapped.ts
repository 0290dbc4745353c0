import type { Segment } from "../page/align.ts";

const SHELL = /^(?:sh|bash|shell|console|zsh|powershell|)$/i;
/** What takes a list in any order. */
const LISTS = /\b(?:install|add|remove|uninstall|rm|mkdir|touch|cat|echo|i|get)\b|^(?:import|export|from)\b/;

type Line = { text: string; isShell: boolean };

/** Lines of samples in which two arguments stand in each other's place. */
export function swappedLines({ before, reference, after }: Segment): string[] {
  const right = linesOf(reference);
  const known = new Set([...linesOf(before), ...right].map(({ text }) => text));
  return linesOf(after)
    .filter(({ text }) => !known.has(text))
    .filter((line) => right.some((other) => isSwapped(line, other.text)))
    .map(({ text }) => `"${text}" has two arguments swapped`);
}

function linesOf(blocks: Segment["after"]): Line[] {
  return blocks
    .filter(({ kind }) => kind === "sample")
    .flatMap(({ visible, language }) =>
      visible.split("\n").map((line) => ({ text: line.trim(), isShell: SHELL.test(language ?? "") })),
    );
}

/** True if the two lines differ in nothing but the order of two arguments, which has a meaning. */
function isSwapped({ text, isShell }: Line, other: string): boolean {
  if (LISTS.test(text) || (!isShell && !/\w\([^()[\]{}]*\)/.test(text))) return false;
  const [its, others] = [argumentsOf(text), argumentsOf(other)];
  const different = its.flatMap((word, nth) => (word === others[nth] ? [] : [nth]));
  const [first = -1, second = -1] = different;
  if (its.length !== others.length || different.length !== 2) return false;
  if (its[first] !== others[second] || its[second] !== others[first]) return false;
  // Options and named arguments may stand anywhere.
  return ![its[first], its[second]].some((word) => /^-|[=:[\]{}]/.test(word ?? ""));
}

function argumentsOf(line: string): string[] {
  return line.match(/[^\s,()]+/g) ?? [];
}
