import type { RunnerTurn } from "../turn.ts";

/** By which the app marks where a prompt's quoted part begins. */
const QUOTED = "The rest of this prompt is quoted material from Slack.";
/** Lines of the quoted part that say whose message comes next. */
const AUTHOR =
  /^(?:Quoted message written by: (.*)|(.*), (?:\d{4}-\d\d-\d\d \d\d:\d\d UTC|at an unknown time):)$/;
/** So many words in a row are somebody's sentence, fewer are how anybody says it. */
const IN_A_ROW = 8;
const MAX_WORDS = 100_000;

/** What came from Slack with a turn. `words`: what of it the person typed who asked. */
type Prompt = { prompt: string; words: string | null };

/**
 * What others wrote in Slack, of all that an agent was given: a text for each message. `requester`:
 * who asked, as quoted messages name their authors.
 */
function othersWords(prompts: readonly Prompt[], requester: string | null): string[] {
  return prompts.flatMap(({ prompt, words }) => {
    const at = prompt.indexOf(QUOTED);
    // A client that doesn't mark what it quotes: everything but what the person typed.
    if (at < 0) return words === null ? [] : prompt.split(words);
    const messages: string[] = [];
    let isOwn = false;
    for (const line of prompt.slice(at).split("\n").slice(1)) {
      const [, written, inThread] = AUTHOR.exec(line) ?? [];
      const author = written ?? inThread;
      if (author !== undefined) {
        isOwn = author === requester;
        messages.push("");
      } else if (!isOwn && line.startsWith(">")) {
        messages.push(`${messages.pop() ?? ""}\n${line.replace(/^>\s?/, "")}`);
      }
    }
    return messages;
  });
}

/** What others wrote in Slack, of all that a turn's agent was given. */
export function foreignWordsOf(turn: Pick<RunnerTurn, "prompt" | "words" | "earlierTurns" | "requester">) {
  const prompts = [...turn.earlierTurns, turn];
  const foreign = new ForeignWords(othersWords(prompts, turn.requester?.name ?? null));
  for (const { words } of prompts) foreign.forget(words ?? "");
  return foreign;
}

/** Finds texts in which eight words in a row come from somebody's message. */
export class ForeignWords {
  readonly #runs = new Set<string>();

  constructor(messages: readonly string[]) {
    for (const message of messages) for (const run of runsOf(message)) this.#runs.add(run);
  }

  get isEmpty(): boolean {
    return this.#runs.size === 0;
  }

  /** Forgets what stands in this text, too: it is nobody's. */
  forget(known: string): void {
    if (this.isEmpty) return;
    for (const run of runsOf(known)) this.#runs.delete(run);
  }

  /** A text without the lines that have some. */
  without(text: string | null): string | null {
    if (this.isEmpty || text === null) return text;
    const lines = text.split("\n").filter((line) => !this.isIn(line));
    return lines.join("\n");
  }

  isIn(text: string): boolean {
    return this.foundIn(text).length > 0;
  }

  /** The parts of a text that come from messages, each as long as it goes. */
  foundIn(text: string): string[] {
    if (this.isEmpty) return [];
    const parts: { start: number; end: number }[] = [];
    for (const { words, start, end } of placedRunsOf(text)) {
      if (!this.#runs.has(words)) continue;
      const last = parts.at(-1);
      if (last !== undefined && start < last.end) last.end = end;
      else parts.push({ start, end });
    }
    const normal = text.normalize("NFKC");
    return parts.map(({ start, end }) => normal.slice(start, end));
  }
}

function runsOf(text: string): string[] {
  return placedRunsOf(text).map(({ words }) => words);
}

/** All runs of words in a text, and where they stand in its normalized form. */
function placedRunsOf(text: string): { words: string; start: number; end: number }[] {
  const found = [...text.normalize("NFKC").matchAll(/[\p{L}\p{N}]+/gu)].slice(0, MAX_WORDS);
  return found.slice(0, found.length - IN_A_ROW + 1).map(({ index }, at) => {
    const row = found.slice(at, at + IN_A_ROW);
    const last = row.at(-1);
    const words = row.map(([word]) => word.toLowerCase()).join(" ");
    return { words, start: index, end: last === undefined ? index : last.index + last[0].length };
  });
}
