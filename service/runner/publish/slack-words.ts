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
    return !this.isEmpty && runsOf(text).some((run) => this.#runs.has(run));
  }
}

function runsOf(text: string): string[] {
  const words = text
    .normalize("NFKC")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .slice(0, MAX_WORDS);
  return words.slice(0, words.length - IN_A_ROW + 1).map((_, at) => words.slice(at, at + IN_A_ROW).join(" "));
}
