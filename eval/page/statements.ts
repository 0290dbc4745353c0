import { type Block, blocksOf } from "./blocks.ts";

/** A sentence, a row, or a line of a sample, as readers see it. `under` is the heading above it. */
export type Statement = { text: string; under: string; kind: Block["kind"] };

const END = /(?<=[.!?。][)"'*_`]*)\s+(?=["'*_`([]*[\p{Lu}\p{N}`])|(?<=。)/u;
/** What ends with a dot and ends no sentence. */
const ABBREVIATED = /\b(?:e\.g|i\.e|etc|vs|approx|z\. ?B|bzw|ca|cf|No|Nr)\.$/;

/** The statements of a file, in their order. Comments aren't any. */
export function statementsOf(path: string, text: string): Statement[] {
  return statementsIn(blocksOf(path, text));
}

export function statementsIn(blocks: readonly Block[]): Statement[] {
  let under = "";
  return blocks.flatMap(({ kind, visible }) => {
    if (kind === "heading") under = visible;
    if (kind === "sample" || kind === "html")
      return visible.split("\n").flatMap((line) => stated(line, under, kind));
    if (kind === "prose") return sentencesOf(visible).flatMap((sentence) => stated(sentence, under, kind));
    return stated(visible, under, kind);
  });
}

function stated(text: string, under: string, kind: Block["kind"]): Statement[] {
  const trimmed = text.trim();
  return trimmed === "" ? [] : [{ text: trimmed, under, kind }];
}

/** The sentences of a paragraph. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = [];
  for (const part of text.split(END)) {
    const last = sentences.at(-1);
    if (last !== undefined && ABBREVIATED.test(last)) sentences[sentences.length - 1] = `${last} ${part}`;
    else if (part.trim() !== "") sentences.push(part.trim());
  }
  return sentences;
}
