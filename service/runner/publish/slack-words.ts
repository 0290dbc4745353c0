import type { RunnerTurn } from "../turn.ts";

/** The app writes this where a prompt's quoted part begins. */
const QUOTED = "The rest of this prompt is quoted material from Slack.";
/** Lines of the quoted part that begin the next message. */
const AUTHOR =
  /^(?:Quoted message written by: .*|.*, (?:\d{4}-\d\d-\d\d \d\d:\d\d UTC|at an unknown time):)$/;
/** This many words in a row are somebody's sentence. Fewer could be anyone's. */
const IN_A_ROW = 8;
/** A word, including invisible characters in it and marks that make a part of it bold. */
const WORD = /[\p{L}\p{N}](?:[\p{Cf}*~]{0,20}[\p{L}\p{N}\p{M}]){0,200}/gu;
const IN_WORDS = /[\p{Cf}*~]/gu;
/** Scripts without spaces, where only a dictionary tells words apart. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;
/** The parts that aren't read as words: tags, comments, addresses. */
const MARKUP = new RegExp(
  String.raw`<!--[^]{0,200}?-->|<\/?[a-z][^<>]{0,1000}>|&#?\w{1,30};|https?:\/\/[^\s<>()[\]|]+` +
    String.raw`|(?<=\])(?:\([^()\n]*\)|\[[^\]\n]*\])`,
  "gi",
);

/** What came from Slack with a turn. `words` is the part that the requester typed. */
type Prompt = Pick<RunnerTurn, "prompt" | "words" | "authors">;

/**
 * The messages that others wrote in Slack, from everything that an agent was given. `requester` is
 * the id of the person who asked. If it is null, others wrote all messages.
 */
function othersWords(prompts: readonly Prompt[], requester: string | null): string[] {
  return prompts.flatMap(({ prompt, words, authors }) => {
    // What the person typed may look like a quoted part, too.
    const typed = words !== null && prompt.startsWith(words) ? words.length : 0;
    const at = prompt.indexOf(QUOTED, typed);
    // This client doesn't mark what it quotes, so everything except what the person typed counts.
    if (at < 0) return words === null ? [] : prompt.split(words);
    const messages: string[] = [];
    for (const line of prompt.slice(at).split("\n").slice(1)) {
      if (line.startsWith(">")) messages.push(`${messages.pop() ?? ""}\n${line.replace(/^>\s?/, "")}`);
      else if (AUTHOR.test(line)) messages.push("");
    }
    // Otherwise it isn't known which of them has which author.
    const isToldOfAll = requester !== null && authors?.quoted.length === messages.length;
    return messages.filter((_, index) => !isToldOfAll || authors.quoted[index] !== requester);
  });
}

/** What others wrote in Slack, from everything that a turn's agent was given. */
export function foreignWordsOf(turn: Pick<RunnerTurn, "prompt" | "words" | "earlierTurns" | "authors">) {
  const prompts = [...turn.earlierTurns, turn];
  const foreign = new ForeignWords(othersWords(prompts, turn.authors?.requester ?? null));
  for (const { words } of prompts) foreign.forget(words ?? "");
  return foreign;
}

/** Finds texts that share eight words in a row with somebody's message. */
export class ForeignWords {
  readonly #runs = new Set<string>();
  readonly #words = new Set<string>();

  constructor(messages: readonly string[]) {
    for (const message of messages) {
      for (const { words } of runsOf(message, () => true)) this.#runs.add(words);
    }
    for (const run of this.#runs) for (const word of run.split(" ")) this.#words.add(word);
  }

  get isEmpty(): boolean {
    return this.#runs.size === 0;
  }

  /** Ignores what is also in this text, because it is nobody's own. */
  forget(known: string): void {
    if (this.isEmpty) return;
    for (const { words } of this.#runsIn(known)) this.#runs.delete(words);
  }

  /** The text without the lines that contain such words, or a part of them. */
  without(text: string | null): string | null {
    if (text === null) return text;
    const found = this.#partsOf(text);
    if (found.length === 0) return text;
    let end = -1;
    const lines = text.split("\n").filter((line) => {
      const start = end + 1;
      end = start + line.normalize("NFKC").length;
      return !found.some((part) => part.start < end && part.end > start);
    });
    return lines.join("\n");
  }

  /** The parts of a text that come from messages, each in full length. */
  foundIn(text: string): string[] {
    const normal = text.normalize("NFKC");
    return this.#partsOf(text).map(({ start, end }) => normal.slice(start, end));
  }

  #runsIn(text: string) {
    return runsOf(text, (word) => this.#words.has(word));
  }

  /** Their positions in the text's normalized form, in order. */
  #partsOf(text: string): Place[] {
    if (this.isEmpty) return [];
    const found: Place[] = [];
    for (const { words, ...place } of this.#runsIn(text)) if (this.#runs.has(words)) found.push(place);
    const parts: Place[] = [];
    for (const { start, end } of found.toSorted((one, other) => one.start - other.start)) {
      const last = parts.at(-1);
      if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
      else parts.push({ start, end });
    }
    return parts;
  }
}

type Place = { start: number; end: number };

/**
 * Finds runs of these words in a text, both as it is written and as it is shown, and their
 * positions in its normalized form.
 */
function* runsOf(text: string, isWanted: (word: string) => boolean): Generator<Place & { words: string }> {
  const written = text.normalize("NFKC");
  const shown = written.replace(MARKUP, (markup) => " ".repeat(markup.length));
  for (const each of shown === written ? [written] : [written, shown]) {
    let row: (Place & { word: string })[] = [];
    for (const placed of wordsIn(each)) {
      if (!isWanted(placed.word)) row = [];
      else row.push(placed);
      if (row.length > IN_A_ROW) row.shift();
      if (row.length < IN_A_ROW) continue;
      const words = row.map(({ word }) => word).join(" ");
      yield { words, start: row[0]?.start ?? placed.start, end: placed.end };
    }
  }
}

function* wordsIn(text: string): Generator<Place & { word: string }> {
  for (const { 0: written, index } of text.matchAll(WORD)) {
    const word = written.replace(IN_WORDS, "").toLowerCase();
    const end = index + written.length;
    if (!UNSPACED.test(word)) yield { word, start: index, end };
    else {
      for (const { segment, index: at } of segmenter().segment(word)) {
        yield { word: segment, start: index + at, end: Math.min(end, index + at + segment.length) };
      }
    }
  }
}

/** Created when it is first used, because its dictionaries take time to load. */
let dictionary: Intl.Segmenter | undefined;

function segmenter(): Intl.Segmenter {
  return (dictionary ??= new Intl.Segmenter("ja", { granularity: "word" }));
}
