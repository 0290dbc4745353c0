import type { Outcome } from "./outcome.ts";
import type { Request } from "./request.ts";
import type { Turn } from "./turn.ts";

/** Where a message goes: a channel, or a thread in it. */
export type Place = { channelId: string; threadTs: string | null };

/** What a message says. How it looks is the notifier's business. */
export type Message =
  /** The root message, or first reply, that is updated in place. */
  | { kind: "status"; request: Request; turn: Turn | null; away: string | null }
  /** The notification that one watch of a turn ended. */
  | { kind: "outcome"; turn: Turn; outcome: Outcome; watch: number; away: string | null }
  /** To the requester alone: the app cannot post in that channel, and how to invite it. */
  | { kind: "invite-me"; channelId: string; error: string }
  /** To one person alone: what they can ask for and how. */
  | { kind: "help" }
  /** To one person alone: what was wrong with what they typed. */
  | { kind: "refused"; refusal: Refusal }
  /** To the requester alone: the app gave up on a part of the request. */
  | { kind: "gave-up"; taskId: string; taskType: string; channelId: string };

/** Why a request was not taken. */
export type Refusal =
  | { kind: "too-long"; length: number; limit: number }
  | { kind: "unknown-project"; name: string; known: string[] };

/** Names a post so that it can be found again: carried as the Slack message's metadata. */
export type PostLabel = { turnId: string; post: string };

/**
 * - `not-sent`: certainly had no effect; worth repeating later.
 * - `unknown`: may have had an effect; look before repeating a post.
 * - `place`: that channel or thread cannot take it, now or later.
 * - `credentials`: the token is not accepted or lacks a scope; only the operator can help.
 */
export type NotifierFault = {
  kind: "not-sent" | "unknown" | "place" | "credentials";
  retryAfterMs?: number;
  /** Slack's error code, or what happened on the way. */
  error: string;
};

export type NotifierAnswer<T> = { ok: true; value: T } | { ok: false; fault: NotifierFault };

/** Slack out. No method throws for anything Slack or the network does: faults are answers. */
export interface Notifier {
  /** Posts once per call; not idempotent. */
  post(place: Place, message: Message, label: PostLabel): Promise<NotifierAnswer<{ ts: string }>>;
  /** The post that carries `label`, sent at or after `sinceMs` (epoch milliseconds); `ts: null` when it is not there. */
  find(place: Place, label: PostLabel, sinceMs: number): Promise<NotifierAnswer<{ ts: string | null }>>;
  /** Replaces a post's content. Idempotent. */
  update(
    post: { channelId: string; ts: string },
    message: Message,
    label: PostLabel,
  ): Promise<NotifierAnswer<null>>;
  /** Shows a message to one member of a channel, until they reload Slack. Not idempotent. */
  whisper(place: Place, userId: string, message: Message): Promise<NotifierAnswer<null>>;
  /** The direct-message channel with a person. Idempotent. */
  openDirectMessage(userId: string): Promise<NotifierAnswer<{ channelId: string }>>;
  /** Shows a message to the person who made a request, where they made it, while its response URL lasts. */
  tellPrivately(responseUrl: string, message: Message): Promise<NotifierAnswer<null>>;
}

/** Readable names from Slack. Null where Slack does not say; never throws. */
export interface Directory {
  personName(userId: string): Promise<string | null>;
  channelName(channelId: string): Promise<string | null>;
  permalink(message: { channelId: string; ts: string; threadTs: string | null }): Promise<string | null>;
}
