import { z } from "zod";
import { storedObject } from "./stored-object.ts";
import type { Outcome } from "../turn/outcome.ts";
import type { Question } from "../job/question.ts";
import type { ListPage, Standing } from "../turn/request-list.ts";
import type { Turn } from "../turn/turn.ts";

/** Where a message goes: a channel of a team, or a thread in it. */
export type Place = { teamId: string; channelId: string; threadTs: string | null };

/** A message that was posted. */
export type Posted = { channelId: string; ts: string };

/**
 * A search for an earlier post. `sentAtMs`: Slack's time when it was sent, at the earliest.
 * `cursor`: where the last look ended.
 */
export type Search = { sentAtMs: number; cursor: string | null };

/**
 * To one person alone, where they are: through the response URL while it lasts, else as an
 * ephemeral message. `replaces`: in place of the message that the response URL came from.
 */
export type Recipient = { place: Place; userId: string; responseUrl: string | null; replaces?: boolean };

/**
 * One step to the reaction that should be under the message that asked. By Slack's names: at work,
 * done, not done.
 */
export type ReactionChange = { name: "eyes" | "white_check_mark" | "x"; isOn: boolean };

/**
 * `away`: why it is in a direct message; null: it isn't, or another message there says so. `muted`:
 * who isn't to be mentioned.
 */
type OfTurn = { turn: Turn; away: string | null; muted?: readonly string[] };

/** What a message says. How it looks is the notifier's business. */
export type Message =
  /**
   * The root message, or first reply, that is updated in place. `followUps`: what it shows besides
   * its own turn, oldest first.
   */
  | { kind: "status"; turn: Turn; followUps?: readonly Turn[]; away: string | null }
  /** What the agent asks, and, once there is one, the answer. */
  | ({ kind: "question"; question: Question } & OfTurn)
  /** That the turn takes longer than usual, once; later, that it did. */
  | ({ kind: "overdue"; overdue: NonNullable<Turn["overdue"]> } & OfTurn)
  /** The notification that one watch of a turn ended. */
  | ({ kind: "outcome"; outcome: Outcome; watch: number } & OfTurn)
  /** To the requester alone: the app cannot post in that channel, and how to invite it. */
  | { kind: "invite-me"; channelId: string; error: string }
  /**
   * To the requester alone: the request is saved, and Slack does not take the status message yet.
   */
  | { kind: "kept" }
  /**
   * To one person alone: what they can ask for and how. `isOfFiles`: they sent files, and no words.
   */
  | { kind: "help"; isOfFiles?: boolean | undefined }
  /** In direct messages with a newcomer: what they can do. */
  | { kind: "welcome" }
  /** To one person alone: requests that they may see. */
  | ({ kind: "list" } & ListPage)
  /** To one person alone: how their requests, and those of the channel, stand. */
  | ({ kind: "standing" } & Standing)
  /** To the author of a reply in a thread alone: whether it is for the agent. */
  | { kind: "ask"; replyId: string }
  /**
   * To one person alone: somebody asked for the same, and that turn runs. `replyId`: their own
   * request, which is kept.
   */
  | { kind: "asked-before"; replyId: string; turn: Turn; agoMs: number }
  /** To one person alone: only the requester may do that. */
  | { kind: "not-allowed"; requesterId: string }
  /** To one person alone: what was wrong with what they typed. */
  | { kind: "refused"; refusal: Refusal }
  /** To the requester alone: the app gave up on a part of the request. */
  | { kind: "gave-up"; taskId: string; taskType: string; channelId: string };

export type MessageOf<K extends Message["kind"]> = Extract<Message, { kind: K }>;

/** Why a request was not taken. */
export const Refusal = z.discriminatedUnion("kind", [
  /** `typed`: where it can be seen nowhere else. */
  storedObject({
    kind: z.literal("too-long"),
    length: z.number(),
    limit: z.number(),
    typed: z.string().optional(),
  }),
  storedObject({ kind: z.literal("unknown-project"), name: z.string(), known: z.array(z.string()) }),
  /** `limit`: requests an hour. `againAtMs`: when the next one is taken, epoch milliseconds. */
  storedObject({
    kind: z.literal("too-many"),
    scope: z.enum(["person", "channel"]),
    limit: z.number(),
    againAtMs: z.number(),
  }),
  /** Guests and people of other organizations aren't let in. */
  storedObject({ kind: z.literal("guest") }),
  /** Slack doesn't say now whether they are a member. */
  storedObject({ kind: z.literal("unchecked") }),
  /** Slack will not say whether they are: the app lacks a scope. */
  storedObject({ kind: z.literal("uncheckable") }),
]);
export type Refusal = z.infer<typeof Refusal>;

/** Names a post so that it can be found again: carried as the Slack message's metadata. */
export type PostLabel = { turnId: string; post: string };

/**
 * - `not-sent`: certainly had no effect; worth repeating later.
 * - `unknown`: may have had an effect; look before repeating a post. Also every error that nobody
 *   foresaw.
 * - `place`: that channel, thread, message or person cannot take it, now or later.
 * - `credentials`: the token is not accepted, lacks a scope, or the app's settings forbid it; only
 *   the operator can help.
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
  /**
   * Posts once per call; not idempotent. The channel of the answer counts: a person's id is
   * answered with their direct message.
   */
  post(place: Place, message: Message, label: PostLabel): Promise<NotifierAnswer<Posted>>;
  /**
   * Looks once (one call, at most 15 messages, the newest first as far as Slack lets us) for the
   * post that carries `label`. `next`: the cursor to go on with; null when all since `sentAtMs` was
   * seen.
   */
  find(
    place: Place,
    label: PostLabel,
    search: Search,
  ): Promise<NotifierAnswer<{ ts: string | null; next: string | null }>>;
  /** Whether nothing was ever written there. */
  isEmpty(place: Place): Promise<NotifierAnswer<boolean>>;
  /** Replaces a post's content. Idempotent. `place.threadTs` is ignored. */
  update(place: Place, ts: string, message: Message, label: PostLabel): Promise<NotifierAnswer<null>>;
  /** Adds the app's reaction to a message, or takes it away. Idempotent. */
  react(
    message: { teamId: string; channelId: string; ts: string },
    change: ReactionChange,
  ): Promise<NotifierAnswer<null>>;
  /** Shows a message to one person alone. Not idempotent. */
  replyPrivately(to: Recipient, message: Message): Promise<NotifierAnswer<null>>;
  /** The direct-message channel with a person. Idempotent. */
  openDirectMessage(teamId: string, userId: string): Promise<NotifierAnswer<{ channelId: string }>>;
  /**
   * Slack's clock as its answers tell it (their Date header), epoch milliseconds; ours until one
   * has.
   */
  slackTimeMs(): number;
}

/** Slack's own sign that the agent is at work, where it offers one. */
export interface WorkStatus {
  /**
   * Shows it in a thread for at most two minutes, in the background: best effort, never throws, and
   * renews only what is about to go.
   */
  show(thread: { teamId: string; channelId: string; threadTs: string }): void;
}
