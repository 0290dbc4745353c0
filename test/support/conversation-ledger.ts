import { askedFor } from "./threads.ts";

/** What words were said for: a request; to others; anything else, of which nothing may start. */
type SaidFor = "request" | "chat" | "nothing";

/**
 * `by` is who said it, or null for the agent. `place` is the channel whose members may read it, or
 * the only person who may. Null means anyone.
 */
type Said = { by: string | null; place: string | null; saidFor: SaidFor };

/** A reply in a thread that mentions nobody. `isForOthers`: it was edited, and then did. */
export type Chat = { words: string; by: string; channel: string; ts: string; isForOthers?: boolean };

/** What was asked for. Outside of a job's thread, the mark of a separate request is part of it. */
export function wordsAsked(call: { prompt: string }): string {
  return askedFor(call).replace(/^new: /, "");
}

const WORDS = /fix page number-\d+-/g;

/** What people of a conversation said and did, and what must come of that. */
export class ConversationLedger {
  readonly #said = new Map<string, Said>();
  /** What was certainly taken, as a request or as an answer; what was tried again is in `retried`. */
  readonly taken = new Set<string>();
  /** Mentions that the setting may have refused. */
  readonly maybeTaken = new Set<string>();
  /** What was pressed. */
  readonly retried = new Set<string>();
  /** The same where the setting may have refused it. */
  readonly maybeRetried = new Set<string>();
  readonly chats: Chat[] = [];
  /** What the chats said whose authors then said that they are for the agent, by their timestamps. */
  readonly sent = new Map<string, string>();
  /** The forms that were sent, by what was asked for in them, and what they listed and was unticked. */
  readonly forms: { words: string; unticked: string[] }[] = [];
  /** Who was told, and when, that they will be mentioned in the result of a turn, or of what its message shows besides. */
  readonly followed: { userId: string; turnId: string; from: string }[] = [];
  /** Who has chosen anything in a menu, by which they may not be mentioned any more. */
  readonly choosers = new Set<string>();

  /** Words that nobody has said before. */
  say(by: string | null, place: string | null, saidFor: SaidFor): string {
    const words = `fix page number-${this.#said.size + 1}-`;
    this.#said.set(words, { by, place, saidFor });
    return words;
  }

  of(words: string): Said | undefined {
    return this.#said.get(words);
  }

  /** All that is said in a text, each once. */
  in(text: string): { words: string; said: Said }[] {
    return [...new Set(text.match(WORDS) ?? [])].flatMap((words) => {
      const said = this.#said.get(words);
      return said === undefined ? [] : [{ words, said }];
    });
  }
}

/** Who may read what somebody asks for in a channel. */
export function placeOfRequest(userId: string, channel: string, isBotIn: boolean): string {
  // Elsewhere the app reports in direct messages.
  return isBotIn && channel.startsWith("C") ? channel : userId;
}

/** Of these the n-th, counted round and round. */
export function pick<T>(from: readonly T[], n: number): T | undefined {
  return from.length === 0 ? undefined : from[n % from.length];
}

/** Throws unless the app took what Slack sent. */
export function taken(status: number, what = "an event"): void {
  if (status !== 200) throw new Error(`the app answered ${status} to ${what}`);
}
