import type { ListOf } from "../core/turn/request-list.ts";
import { wordsIn } from "../core/text/text.ts";

/** A person's parsed words after `/docs-agent` or after a mention of the app. */
export type CommandText =
  | { kind: "help" }
  /**
   * Lists the person's own requests, or this channel's, or says how these stand. `isOpen` is true
   * for the open pull requests of both.
   */
  | { kind: "list"; of: ListOf | "standing"; isOpen?: true }
  | { kind: "empty"; project: string | null }
  | { kind: "prompt"; project: string | null; prompt: string };

const PROJECT = /^project=(\S*)(?:\s+|$)/i;

/** Words that count only if nothing else was typed. */
const ALONE: ReadonlyMap<string, CommandText> = new Map<string, CommandText>([
  ["help", { kind: "help" }],
  ["list", { kind: "list", of: "person" }],
  ["list channel", { kind: "list", of: "channel" }],
  ["list open", { kind: "list", of: "person", isOpen: true }],
  ["status", { kind: "list", of: "standing" }],
]);

const NEW = /^new(?:\s+|$)/i;

/**
 * Parses a mention in a thread. `isNew` is true if it begins with the word `new`, which asks for a
 * new job.
 */
export function parseReplyText(text: string): CommandText & { isNew: boolean } {
  const typed = text.trim();
  if (NEW.test(typed)) return { ...parseCommandText(typed.replace(NEW, "")), isNew: true };
  const parsed = parseCommandText(typed);
  if (parsed.kind !== "prompt" || parsed.project === null || !NEW.test(parsed.prompt)) {
    return { ...parsed, isNew: false };
  }
  return { ...parseCommandText(`project=${parsed.project} ${parsed.prompt.replace(NEW, "")}`), isNew: true };
}

/**
 * Parses the text of a command. A subcommand counts only if it stands alone: "help users find the
 * API key" is a prompt. The prompt is the typed text without white space around it.
 */
export function parseCommandText(text: string): CommandText {
  const typed = wordsIn(text);
  const alone = ALONE.get(typed.toLowerCase().replaceAll(/\s+/g, " "));
  if (alone !== undefined) return alone;
  const match = PROJECT.exec(typed);
  const project = match?.[1] ?? null;
  const prompt = match === null ? typed : wordsIn(typed.slice(match[0].length));
  return prompt === "" ? { kind: "empty", project } : { kind: "prompt", project, prompt };
}
