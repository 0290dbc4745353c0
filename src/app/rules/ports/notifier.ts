import { z } from "zod";
import type { JobDiff } from "../../../shared/contract/diff.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import type { Outcome } from "../turn/outcome.ts";
import type { NewsOffer } from "../thread/acting.ts";
import type { Question } from "../thread/question.ts";
import type { HomePage, ListPage, Overview } from "../thread/request-list.ts";
import type { SessionStatus } from "../thread/session.ts";
import type { ThreadNews } from "../turn/pull-request-news.ts";
import type { MessageRef, Place } from "../turn/request.ts";
import type { Turn } from "../turn/turn.ts";

export type Posted = { channelId: string; ts: string };

/**
 * A search for an earlier post. `sentAtMs` is the earliest time, by Slack's clock, that it was
 * sent. `cursor` continues the previous search.
 */
export type Search = { sentAtMs: number; cursor: string | null };

/**
 * Sends to one person alone, where they are: through the response URL while it lasts, then as an
 * ephemeral message. `replaces` puts it in place of the message that the response URL came from.
 */
export type Recipient = { place: Place; userId: string; responseUrl: string | null; replaces?: boolean };

/**
 * A reaction to add to a message or remove from it. The message that asked shows working, done, or
 * failed; one that thanks, a smile.
 */
export type ReactionChange = { name: "eyes" | "white_check_mark" | "x" | "blush"; isOn: boolean };

/**
 * `movedBecause` is the error that moved this to a direct message. It is null if it didn't move, or
 * if another message there says why. `muted` are the people not to mention.
 */
type OfTurn = { turn: Turn; movedBecause: string | null; muted?: readonly string[] };

/** What each kind of message says. The notifier decides how it looks. */
type Messages = {
  /**
   * The root message or first reply, which is updated in place. `followUps` are the other turns it
   * shows, oldest first.
   */
  status: { turn: Turn; followUps?: readonly Turn[]; movedBecause: string | null };
  /** The agent's question and, once there is one, the answer. */
  question: { question: Question } & OfTurn;
  /** A notice that the turn takes longer than usual. It is posted once and updated later. */
  overdue: { overdue: NonNullable<Turn["overdue"]> } & OfTurn;
  /**
   * What became of the turn's pull request. `offer` says what the agent can do about it, if
   * anything.
   */
  news: { news: ThreadNews; url: string; offer?: NewsOffer } & OfTurn;
  /**
   * The notice that one watch of a turn has ended. `preview` is where its change can be looked at.
   */
  outcome: { outcome: Outcome; watch: number; preview?: string } & OfTurn;
  /** To the requester alone: the app can't post in that channel, and how to invite it. */
  "invite-me": { channelId: string; error: string };
  /**
   * To the requester alone: the request is saved, but Slack won't accept the status message yet.
   */
  kept: object;
  /** In a newcomer's direct messages: what they can do. */
  welcome: object;
  /** To one person alone: requests that they may see. */
  list: ListPage;
  /** To one person alone: the state of their requests and of the channel's. */
  overview: Overview;
  /**
   * In a person's Home tab. `refusal`: why they may not use the app. `notice`: what became of their
   * press in it, since a press there has no other answer.
   */
  home: { page: HomePage | { refusal: Refusal } | { notice: string } };
  /**
   * To one person alone: what the turn's job changes, by its words. `rest` is where the raw change
   * is: a file that was sent, or the pull request's page because this message can't have all of it.
   * It is null if the message has it.
   */
  changes: {
    turn: Turn;
    of:
      | { kind: "reading" | "gone" | "unreadable" }
      | { kind: "read"; diff: JobDiff; rest: "file" | "page" | null };
  };
  /** Beside the file with the turn's raw change. */
  "raw-change": { turn: Turn };
  /**
   * To one person alone: the turn's pull request wasn't closed. `said` is the job service's reason
   * (untrusted), or null if it couldn't be asked.
   */
  "not-closed": { turn: Turn; said: string | null };
  /** To the author of a reply in a thread alone: asks if it is for the agent. */
  ask: { replyId: string };
  /**
   * To the author of a direct message alone: asks if it answers this question, or is a request.
   */
  "ask-which": { replyId: string; question: Question };
  /** To the author of a request alone: asks which project it is for. */
  "ask-project": { replyId: string };
  /**
   * To one person alone: somebody asked for the same, and that turn runs, or its pull request is
   * open. `replyId` is their own request, which is kept. `isOwn`: they asked themselves. `mayAdd`:
   * they may add to the pull request.
   */
  "asked-before": { replyId: string; turn: Turn; isOwn: boolean; mayAdd: boolean; agoMs: number };
  /**
   * To whoever answered the agent's question alone: it didn't get the answer, or may not have.
   */
  unheard: { turn: Turn; question: Question };
  /** To the requester alone: the app gave up on part of the request. */
  "gave-up": { taskId: string; taskType: string; channelId: string };
  help: AnswerOf<"help">;
  refused: AnswerOf<"refused">;
  "not-allowed": AnswerOf<"not-allowed">;
};
/** The fields of one of {@link PrivateAnswer}'s, besides its kind. */
type AnswerOf<K extends PrivateAnswer["kind"], Of = Extract<PrivateAnswer, { kind: K }>> = {
  [F in keyof Of as string extends F ? never : Exclude<F, "kind">]: Of[F];
};
/** A message's content. */
export type MessageOf<K extends keyof Messages> = { [P in K]: { kind: P } & Messages[P] }[K];
export type Message = MessageOf<keyof Messages>;

/** Why a request was refused. */
export const Refusal = z.discriminatedUnion("kind", [
  /** `typed` is the text, if the person can't see it anywhere else. */
  storedObject({
    kind: z.literal("too-long"),
    length: z.number(),
    limit: z.number(),
    typed: z.string().optional(),
  }),
  storedObject({ kind: z.literal("unknown-project"), name: z.string(), known: z.array(z.string()) }),
  /**
   * `limit` is in requests an hour. `againAtMs` is when the next one is accepted, epoch
   * milliseconds.
   */
  storedObject({
    kind: z.literal("too-many"),
    scope: z.enum(["person", "channel"]),
    limit: z.number(),
    againAtMs: z.number(),
  }),
  /** Guests and people of other organizations aren't admitted. */
  storedObject({ kind: z.literal("guest") }),
  /** Slack can't say at the moment if they are a member. */
  storedObject({ kind: z.literal("unchecked") }),
  /** Slack won't say if they are a member, because the app lacks a scope. */
  storedObject({ kind: z.literal("uncheckable") }),
  /**
   * The operator lets the app be used in these channels. `isDirect`: it was asked in direct
   * messages, and the person is in none of them.
   */
  storedObject({ kind: z.literal("other-channel"), isDirect: z.boolean(), channels: z.array(z.string()) }),
  /** The person is in none of the operator's user groups. */
  storedObject({ kind: z.literal("not-in-group") }),
  /** Slack can't say whether the operator's channels or groups let them in. */
  storedObject({ kind: z.literal("access-unchecked") }),
  /** It would change something, and the operator lets the app only answer in its channel. */
  storedObject({ kind: z.literal("ask-only") }),
]);
export type Refusal = z.infer<typeof Refusal>;

/** To one person alone: what the app itself answers to a word such as `help`. */
export const OwnAnswer = z.discriminatedUnion("kind", [
  /** What they can ask for and how. `isOfFiles` is true if they sent only files. */
  storedObject({ kind: z.literal("help"), isOfFiles: z.boolean().optional() }),
]);
export type OwnAnswer = z.infer<typeof OwnAnswer>;

/** To one person alone: what the app answers to their words. A task keeps it until it is sent. */
export const PrivateAnswer = z.discriminatedUnion("kind", [
  ...OwnAnswer.options,
  /** What was wrong with what they typed. */
  storedObject({ kind: z.literal("refused"), refusal: Refusal }),
  /** Only the requester may do that. */
  storedObject({ kind: z.literal("not-allowed"), requesterId: z.string() }),
]);
export type PrivateAnswer = z.infer<typeof PrivateAnswer>;

/** Identifies a post so that it can be found again. It is sent as the Slack message's metadata. */
export type PostLabel = { turnId: string; post: string };

/**
 * - `not-sent`: certainly had no effect, so it is worth repeating later.
 * - `unknown`: may have had an effect, so search before repeating a post. Unforeseen errors count
 *   as this.
 * - `place`: this channel, thread, message or person can't take it, now or later.
 * - `credentials`: the token isn't accepted or lacks a scope, or the app's settings forbid it. Only
 *   the operator can help.
 */
export type NotifierFault = {
  kind: "not-sent" | "unknown" | "place" | "credentials";
  retryAfterMs?: number;
  /** Slack's error code, or what went wrong on the network. */
  error: string;
};

export type NotifierAnswer<T> = { ok: true; value: T } | { ok: false; fault: NotifierFault };

/**
 * Everything we send to Slack. No method throws for faults of Slack or the network: faults are
 * returned.
 */
export interface Notifier {
  /**
   * Posts once per call, not idempotent. Use the channel in the answer: a message to a person's id
   * is answered with the id of their direct message.
   */
  post(place: Place, message: Message, label: PostLabel): Promise<NotifierAnswer<Posted>>;
  /**
   * Searches once (one call, at most 15 messages, newest first as far as Slack allows) for the post
   * that carries `label`. `next` is the cursor to continue with, or null once everything since
   * `sentAtMs` was seen.
   */
  find(
    place: Place,
    label: PostLabel,
    search: Search,
  ): Promise<NotifierAnswer<{ ts: string | null; next: string | null }>>;
  /** Resolves to true if nothing was ever written there. */
  isEmpty(place: Place): Promise<NotifierAnswer<boolean>>;
  /** Replaces a post's content. Idempotent. `place.threadTs` is ignored. */
  update(place: Place, ts: string, message: Message, label: PostLabel): Promise<NotifierAnswer<null>>;
  /** Deletes a post. Idempotent: one that is gone is a fault of the place. */
  remove(place: Place, ts: string): Promise<NotifierAnswer<null>>;
  /** Adds the app's reaction to a message or removes it. Idempotent. */
  react(message: MessageRef, change: ReactionChange): Promise<NotifierAnswer<null>>;
  /** Shows a message to one person alone. Not idempotent. */
  replyPrivately(to: Recipient, message: Message): Promise<NotifierAnswer<null>>;
  /**
   * Sends a text to a person as a file with a message, in their direct messages. Not idempotent. A
   * fault may mean that the app lacks the scope for it.
   */
  sendFile(
    userId: string,
    file: { name: string; content: string },
    message: Message,
  ): Promise<NotifierAnswer<null>>;
  /** Shows a person's Home tab anew. Idempotent. */
  publishHome(userId: string, message: MessageOf<"home">): Promise<NotifierAnswer<null>>;
  /** Opens the direct-message channel with a person. Idempotent. */
  openDirectMessage(userId: string): Promise<NotifierAnswer<{ channelId: string }>>;
  /**
   * Slack's time from the Date header of its answers, epoch milliseconds. Before the first answer,
   * our own time.
   */
  slackTimeMs(): number;
}

/**
 * How Slack itself shows that the agent is at work: by a thread's session, if the app is declared
 * as an agent, and otherwise by its "is working" indicator. They take the same place, so a thread
 * has one of them.
 */
export interface WorkStatus {
  /** Which of them a thread has. Undefined until Slack has answered `setSession`. */
  wayIn(thread: MessageRef): "session" | "indicator" | undefined;
  /**
   * Sets the status of a thread's session, and makes the session if there is none. Idempotent. A
   * fault of place or credentials means that the thread has the indicator. `hadOne`: the thread had
   * a session before, so a refusal says nothing about others.
   */
  setSession(thread: MessageRef, status: SessionStatus, hadOne: boolean): Promise<NotifierAnswer<null>>;
  /**
   * Shows the indicator in a thread for at most two minutes, in the background. Best effort: never
   * throws, and renews only what is about to expire.
   */
  show(thread: MessageRef): void;
}
