import { createHash } from "node:crypto";
import { z } from "zod";
import type { SlackDelivery, SlackMessage } from "../../world/slack/index.ts";
import type { SideCreate } from "../../world/job-service/side.ts";

/** A turn that a person caused, or may have caused. */
export type Entry = {
  turnId: string;
  /** A text that is in this prompt and in no other. A second try has the same one as the first. */
  marker: string;
  userId: string;
  /**
   * True if the app said that it took the request. Without an answer it may still have taken it.
   */
  isAccepted: boolean;
  /** True if the app said in words that it didn't take the request. */
  isRefused?: boolean;
  /** True for a follow-up or a second try, which the status message of another turn may show. */
  sharesStatus?: boolean;
  /**
   * The number of watches that were certainly asked for, including the first, and of those that may
   * have been.
   */
  watches: { asked: number; maybe: number };
};

/** The faults that a {@link Ledger} found. */
export type Verdict = {
  /** Accepted requests, or presses, without their outcome. */
  lost: string[];
  /** Two posts of one name, or two jobs for one turn. */
  doubled: string[];
  /**
   * Losses and duplicates that came from Redis forgetting its last writes: see {@link LostTail}.
   */
  byRedis: string[];
  outcomes: number;
};

/**
 * A stretch of time whose writes Redis has forgotten. A request that was taken in it may be lost,
 * and a post that was made in it may appear once more (docs/replicas.md).
 */
export type LostTail = { fromMs: number; toMs: number; turnIds: ReadonlySet<string> };

/** True if the post was made in this stretch. */
export function isInTail({ ts }: SlackMessage, tail: LostTail | undefined): boolean {
  return tail !== undefined && Number(ts) * 1000 >= tail.fromMs && Number(ts) * 1000 <= tail.toMs;
}

type Asked = "command" | "mention" | "form";

const Payload = z.object({ view: z.object({ id: z.string() }) });
const Event = z.object({
  team_id: z.string(),
  event: z.object({ channel: z.string(), ts: z.string() }),
});

/** Returns the turn that a delivery causes. Its id is made of what Slack sent. */
export function turnIdOf(how: Asked, { body }: SlackDelivery): string {
  switch (how) {
    case "command":
      return `command:${new URLSearchParams(body).get("trigger_id")}`;
    case "form":
      return `form:${Payload.parse(JSON.parse(new URLSearchParams(body).get("payload") ?? "")).view.id}`;
    case "mention": {
      const { team_id: teamId, event } = Event.parse(JSON.parse(body));
      return `mention:${teamId}:${event.channel}:${event.ts}`;
    }
  }
}

/** Returns the turn that **Try again** causes. */
export function nextTryOf(turnId: string, watch: number): string {
  return `again:${createHash("sha256").update(`${turnId}\n${watch}`).digest("hex").slice(0, 32)}`;
}

/** Remembers the requests of one round. */
export class Ledger {
  readonly entries = new Map<string, Entry>();

  add(entry: Omit<Entry, "watches">): void {
    const known = this.entries.get(entry.turnId);
    if (known !== undefined) {
      known.isAccepted ||= entry.isAccepted;
      known.isRefused ||= entry.isRefused ?? false;
      return;
    }
    this.entries.set(entry.turnId, { ...entry, watches: { asked: 1, maybe: 0 } });
  }

  /**
   * Compares the requests with everything that was said and done. `creates` includes messages.
   * `isAnswer` is true for words that answered an agent's question, so that they have no turn.
   * `tail` is the stretch that Redis has forgotten.
   */
  judge(
    posts: readonly SlackMessage[],
    creates: readonly SideCreate[],
    isAnswer: (marker: string) => boolean = () => false,
    tail?: LostTail,
  ): Verdict {
    const counts = countByTurn(posts);
    const created = new Set(creates.map(({ idempotencyKey }) => turnOfKey(idempotencyKey ?? "")));
    const forgotten = new Set(
      posts
        .filter((each) => isInTail(each, tail))
        .flatMap((each) => [turnOf(each), nextTryOf(turnOf(each), watchOf(nameOf(each)))]),
    );
    const lost: string[] = [];
    const doubled: string[] = [];
    const byRedis: string[] = [];
    let outcomes = 0;
    for (const [turnId, ofTurn] of counts) {
      for (const [post, count] of ofTurn) {
        if (post.startsWith("outcome-")) outcomes += count;
        const isForgotten = posts.some((each) => {
          return turnOf(each) === turnId && nameOf(each) === post && isInTail(each, tail);
        });
        if (count > 1)
          (isForgotten && count === 2 ? byRedis : doubled).push(
            `${post} of ${turnId} was posted ${count} times: ${placesOf(posts, turnId)}`,
          );
      }
      const isNotice =
        ofTurn.has("notice") || (ofTurn.has("unheard") && this.entries.has(answeredTurn(turnId)));
      if (!this.entries.has(turnId) && !isNotice) {
        doubled.push(`nobody asked for turn ${turnId}, and it has posts: ${[...ofTurn.keys()].join(", ")}`);
      }
    }
    for (const entry of this.entries.values()) {
      const { turnId, isAccepted, watches, sharesStatus } = entry;
      const ofTurn = counts.get(turnId) ?? new Map<string, number>();
      const isTurn = ofTurn.size > 0 || created.has(turnId);
      if (!isTurn && isAnswer(entry.marker)) continue;
      const isKnown = isAccepted || isTurn;
      const wanted = [
        ...(sharesStatus === true ? [] : ["status"]),
        ...Array.from({ length: watches.asked }, (_, index) => `outcome-${index + 1}`),
      ];
      // A press below a post that Redis has forgotten may have no effect, and nor may **Try
      // again**.
      const isOfTail = tail?.turnIds.has(turnId) === true || forgotten.has(turnId);
      if (isKnown) {
        for (const post of wanted)
          if (!ofTurn.has(post)) {
            (isOfTail ? byRedis : lost).push(
              `${post} of ${turnId} (${entry.marker}) is missing; ` +
                `there is: ${placesOf(posts, turnId) || "nothing"}`,
            );
          }
      }
      for (const post of ofTurn.keys()) {
        const watch = watchOf(post);
        if (watch > watches.asked + watches.maybe) doubled.push(`nobody asked for ${post} of ${turnId}`);
      }
    }
    doubled.push(...doubledCreates(creates, [...this.entries.values()]));
    return { lost, doubled, byRedis, outcomes };
  }
}

/** Returns the turn whose question an answer didn't reach, from the post that tells its author. */
function answeredTurn(id: string): string {
  return id.replace(/^unheard:(.*):\d+$/, "$1");
}

/** Returns the number of the watch that an outcome ends, or 0 for another post. */
function watchOf(post: string): number {
  return Number(/^outcome-(\d+)$/.exec(post)?.[1] ?? 0);
}

/** Describes the posts of a turn: their names, places, threads and times. */
function placesOf(posts: readonly SlackMessage[], turnId: string): string {
  return posts
    .filter((post) => turnOf(post) === turnId)
    .map((post) => `${nameOf(post)} in ${post.channel} ${post.thread_ts ?? "(root)"} at ${post.ts}`)
    .join(", ");
}

/** Returns the turn of a create or a message with this key. */
export function turnOfKey(idempotencyKey: string): string {
  return idempotencyKey.replace(/^[^/]*\//, "").replace(/:message$/, "");
}

/** Returns the turn that a post names. */
export function turnOf({ metadata }: SlackMessage): string {
  return String(metadata?.event_payload["turn_id"]);
}

/** Returns the name that a post has within its turn. */
export function nameOf({ metadata }: SlackMessage): string {
  return String(metadata?.event_payload["post"]);
}

function countByTurn(posts: readonly SlackMessage[]): Map<string, Map<string, number>> {
  const counts = new Map<string, Map<string, number>>();
  for (const message of posts) {
    const turnId = turnOf(message);
    const post = nameOf(message);
    const ofTurn = counts.get(turnId) ?? new Map<string, number>();
    ofTurn.set(post, (ofTurn.get(post) ?? 0) + 1);
    counts.set(turnId, ofTurn);
  }
  return counts;
}

/** Finds creates that made a second job for one turn, by their key and by their words. */
function doubledCreates(creates: readonly SideCreate[], entries: readonly Entry[]): string[] {
  const byKey = Map.groupBy(creates, ({ idempotencyKey }) => idempotencyKey ?? "no key");
  const byMarker = Map.groupBy(creates, ({ prompt }) => /\[round-\d+-\d+\]/.exec(prompt)?.[0] ?? prompt);
  return [
    ...[...byKey]
      .filter(([, made]) => made.length > 1)
      .map(([key, made]) => `${made.length} jobs were created, or messages sent, with the key ${key}`),
    ...[...byMarker]
      .filter(([marker, made]) => made.length > entries.filter((entry) => entry.marker === marker).length)
      .map(([marker, made]) => `${made.length} jobs were created, or messages sent, for ${marker}`),
  ];
}
