import { askedFor } from "./threads.ts";

/**
 * The purpose of words: a request, a chat with others, or something that must not start anything.
 */
type SaidFor = "request" | "chat" | "nothing";

/**
 * Words that were said. `by` is the person who said them, or null for the agent. `place` is the
 * channel whose members may read them, or the only person who may. Null means anyone.
 */
type Said = { by: string | null; place: string | null; saidFor: SaidFor };

/**
 * A reply in a thread that mentions nobody. With `isForOthers`, it was edited and then mentioned
 * somebody.
 */
export type Chat = { words: string; by: string; channel: string; ts: string; isForOthers?: boolean };

/**
 * Returns the words of a request. Outside of a job's thread, they include the mark of a separate
 * request.
 */
export function wordsAsked(call: { prompt: string }): string {
  return askedFor(call).replace(/^new: /, "");
}

const WORDS = /fix page number-\d+-/g;

/** Remembers the words and acts of a conversation's people, and their expected effects. */
export class ConversationLedger {
  readonly #said = new Map<string, Said>();
  /**
   * Words that were certainly taken, as a request or as an answer. Those that were tried again are
   * in `retried`.
   */
  readonly taken = new Set<string>();
  /** Mentions that may have been refused because of the setting. */
  readonly maybeTaken = new Set<string>();
  /** The values of **Try again** buttons that were pressed. */
  readonly retried = new Set<string>();
  /** Presses that may have been refused because of the setting. */
  readonly maybeRetried = new Set<string>();
  readonly chats: Chat[] = [];
  /** The words of chats whose authors said later that they are for the agent, by timestamp. */
  readonly sent = new Map<string, string>();
  /**
   * The forms that were sent: the words of the request, and the listed messages that were
   * unchecked.
   */
  readonly forms: { words: string; unticked: string[] }[] = [];
  /**
   * The people who were told that a result will mention them, and when. The result may be of the
   * turn, or of another one that its message shows.
   */
  readonly followed: { userId: string; turnId: string; from: string }[] = [];
  /** People who have chosen anything in a menu. After that, they may not be mentioned anymore. */
  readonly choosers = new Set<string>();

  /** Makes words that nobody has said before. */
  say(by: string | null, place: string | null, saidFor: SaidFor): string {
    const words = `fix page number-${this.#said.size + 1}-`;
    this.#said.set(words, { by, place, saidFor });
    return words;
  }

  of(words: string): Said | undefined {
    return this.#said.get(words);
  }

  /** Finds all words that were said in a text, each once. */
  in(text: string): { words: string; said: Said }[] {
    return [...new Set(text.match(WORDS) ?? [])].flatMap((words) => {
      const said = this.#said.get(words);
      return said === undefined ? [] : [{ words, said }];
    });
  }
}

/** Returns the place whose people may read a request from this channel. */
export function placeOfRequest(userId: string, channel: string, isBotIn: boolean): string {
  // Elsewhere the app reports in direct messages.
  return isBotIn && channel.startsWith("C") ? channel : userId;
}

/** Returns the n-th of these, counted around. */
export function pick<T>(from: readonly T[], n: number): T | undefined {
  return from.length === 0 ? undefined : from[n % from.length];
}

/** Throws unless the app took what Slack sent. */
export function taken(status: number, what = "an event"): void {
  if (status !== 200) throw new Error(`the app answered ${status} to ${what}`);
}
