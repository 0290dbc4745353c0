import { ANSWER_MAX_CHARS, choiceNamed } from "../rules/thread/question.ts";
import type { OwnAnswer } from "../rules/ports/notifier.ts";
import { PROMPT_MAX_CHARS } from "../rules/turn/request.ts";
import type { ListOf } from "../rules/thread/request-list.ts";
import { wordsIn } from "../../shared/text/text.ts";
import { projectOption } from "./project-option.ts";
import { isOnlyThanks, plainWords, withoutEmoji } from "./thanks.ts";

/** Where somebody typed, as far as it decides how their words are read. */
export type WordsPlace = {
  isDirect: boolean;
  /** True for a reply. A command never is one. */
  isInThread: boolean;
  /** True if the thread has a job. */
  hasJob: boolean;
  /**
   * The agent's open question: in this thread or, for direct messages outside of threads, the one
   * that is open there. Null if there is none that this person and message may answer.
   */
  question: { choices: readonly string[]; takesWords: boolean } | null;
  /** The names of the configured projects. */
  projects: readonly string[];
};

/** What a person's words ask for. */
export type Words =
  /** Answers the question. */
  | { kind: "answer" }
  /** Answers it or is a request, which only the person can say. */
  | { kind: "perhaps-answer" }
  /** Asks the app itself, which answers this. */
  | { kind: "own-answer"; answer: OwnAnswer }
  /**
   * Lists the person's own requests, or this channel's, or gives an overview. `isOpen` is true for
   * the open pull requests of both.
   */
  | ListWords
  | { kind: "thanks" }
  /** Asks for nothing. `isNew` and `project` as in a prompt. */
  | { kind: "empty"; project: string | null; isNew: boolean }
  | { kind: "unknown-project"; name: string }
  /** `isNew` asks for a job of its own in a thread that has one. */
  | { kind: "prompt"; project: string | null; isNew: boolean; prompt: string };

export type ListWords = { kind: "list"; of: ListOf | "overview"; isOpen?: true };

/** The longest prompt, with room for what is said of its project and job. */
const TYPED_MAX = PROMPT_MAX_CHARS + 200;

const HELP: Words = { kind: "own-answer", answer: { kind: "help" } };

/** Words that count only if nothing else was typed. */
const ALONE: ReadonlyMap<string, Words> = new Map<string, Words>([
  ["help", HELP],
  ["list", { kind: "list", of: "person" }],
  ["list channel", { kind: "list", of: "channel" }],
  ["list open", { kind: "list", of: "person", isOpen: true }],
  ["status", { kind: "list", of: "overview" }],
]);

/** Only question marks, with any punctuation, and a program's short option. */
const ASKS_FOR_HELP = /^(?:[^\p{L}\p{N}]*[?？][^\p{L}\p{N}]*|[-–—]+h)$/iu;

/** What can be read or shows something. */
const SAYS_SOMETHING = /[\p{L}\p{N}\p{Extended_Pictographic}\p{Regional_Indicator}]/u;

/** What begins a request for another job. With a colon it can't be the answer to a question. */
const NEW_COLON = /^new(?:\s+job)?\s*[:：]\s*/i;
const NEW_ALONE = /^new(?:\s+job)?\s*[:：]?$/i;
const NEW = /^new(?:(?:\s+job)?\s*[:：]\s*|\s+job(?:\s+|$)|$)/i;

/**
 * Reads what a person typed, without the mention of the app, by the place where they typed it: as
 * an answer, a subcommand, thanks, a request for another job, or a request.
 */
export function readWords(text: string, place: WordsPlace): Words {
  const typed = wordsIn(text);
  // It's too long for anything, and is refused for that.
  if (typed.length > TYPED_MAX) return { kind: "prompt", project: null, isNew: false, prompt: typed };
  return answerOf(typed, place) ?? aloneOf(typed) ?? thanksOf(typed, place) ?? requestOf(typed, place);
}

/**
 * A choice may have any name, even a subcommand's. Above a question in direct messages, only its
 * whole name is certainly meant as the answer.
 */
function answerOf(typed: string, { question, isInThread }: WordsPlace): Words | null {
  if (question === null || typed === "") return null;
  const named = choiceNamed(question.choices, typed);
  if (named?.isWhole === true) return { kind: "answer" };
  if (aloneOf(typed) !== null || NEW_COLON.test(typed) || !SAYS_SOMETHING.test(typed)) return null;
  const isPossible = named !== null || (question.takesWords && typed.length <= ANSWER_MAX_CHARS);
  if (!isPossible) return null;
  return { kind: isInThread ? "answer" : "perhaps-answer" };
}

function aloneOf(typed: string): Words | null {
  const alone = ALONE.get(plainWords(typed)) ?? ALONE.get(plainWords(withoutEmoji(typed)));
  return alone ?? (ASKS_FOR_HELP.test(typed) ? HELP : null);
}

function thanksOf(typed: string, { hasJob, question }: WordsPlace): Words | null {
  return hasJob && question === null && isOnlyThanks(typed) ? { kind: "thanks" } : null;
}

function requestOf(typed: string, { hasJob, question, projects }: WordsPlace): Words {
  const marker = hasJob || question !== null ? NEW : NEW_ALONE;
  const [words, isFirstNew] = without(marker, typed);
  const option = projectOption(words, projects);
  if (option?.isKnown === false) return { kind: "unknown-project", name: option.name };
  const [prompt, isNextNew] = option === null ? [words, false] : without(marker, option.rest);
  const request = { project: option?.name ?? null, isNew: isFirstNew || isNextNew };
  return SAYS_SOMETHING.test(prompt) ? { kind: "prompt", ...request, prompt } : { kind: "empty", ...request };
}

function without(marker: RegExp, text: string): [rest: string, isThere: boolean] {
  return [wordsIn(text.replace(marker, "")), marker.test(text)];
}
