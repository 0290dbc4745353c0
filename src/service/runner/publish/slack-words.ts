import type { RunTurnInput } from "../runner.ts";

/** The app writes this where a prompt's quoted part begins. */
const QUOTED = "The rest of this prompt is quoted material from Slack.";
/** Lines of the quoted part that begin the next message. */
const AUTHOR =
  /^(?:Quoted message written by: .*|.*, (?:\d{4}-\d\d-\d\d \d\d:\d\d UTC|at an unknown time):)$/;
/** The name in such a line. A file or a message in another one has an author of its own. */
const NAME = new RegExp(
  String.raw`^(?:Quoted message written by: |(?:File|Forwarded message) by )?(.*?)` +
    String.raw`(?:, (?:\d{4}-\d\d-\d\d \d\d:\d\d UTC|at an unknown time):)?$`,
);
/** What the app writes in place of a person's name that it does not know. */
const NO_NAME = /^(?:an app|The same message also shows|[UWB][A-Z\d]{6,})$/;
/** What came from Slack with a turn. `words` is the part that the requester typed. */
type Prompt = Pick<RunTurnInput, "prompt" | "words" | "authors">;

/** True if what came with a turn quotes messages from Slack, beside what the person typed. */
export function quotesSlack({ prompt, words }: Omit<Prompt, "authors">): boolean {
  return quotedFrom(prompt, words) >= 0;
}

/** Where a prompt's quoted part begins, or -1. What the person typed may look like one, too. */
function quotedFrom(prompt: string, words: string | null): number {
  return prompt.indexOf(QUOTED, words !== null && prompt.startsWith(words) ? words.length : 0);
}

/**
 * The messages that others wrote in Slack, from everything that an agent was given. `requester` is
 * the id of the person who asked. If it is null, others wrote all messages.
 */
function othersWords(prompts: readonly Prompt[], requester: string | null): string[] {
  return prompts.flatMap(({ prompt, words, authors }) => {
    const at = quotedFrom(prompt, words);
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

type Asked = Pick<RunTurnInput, "prompt" | "words" | "earlierTurns" | "authors">;

/** The names of the people whose messages a turn's agent was given, as the app wrote them. */
export function namesOfQuoted({ earlierTurns, prompt, words }: Omit<Asked, "authors">): string[] {
  const names = [...earlierTurns, { prompt, words }].flatMap((each) => {
    const at = quotedFrom(each.prompt, each.words);
    const lines = at < 0 ? [] : each.prompt.slice(at).split("\n");
    return lines.flatMap((line) => (AUTHOR.test(line) ? (NAME.exec(line)?.[1]?.trim() ?? []) : []));
  });
  return [...new Set(names)].filter((name) => name !== "" && !NO_NAME.test(name));
}

/** The messages that others wrote in Slack, from everything that a turn's agent was given. */
export function messagesOfOthers(turn: Asked): string[] {
  return othersWords([...turn.earlierTurns, turn], turn.authors?.requester ?? null);
}
