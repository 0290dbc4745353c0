import type { JobChanges } from "../../src/shared/contract/feed.ts";
import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { SideReply } from "./wire.ts";

/** A request to the feed. `after` is null for the first one, and `wait` is in seconds. */
export type FeedRequest = { after: string | null; wait: number };
/**
 * A function that gets the right answer and may answer something else. It returns true if it did.
 */
export type FeedLie = (asked: FeedRequest, honest: SideReply, response: ServerResponse) => unknown;

const LOOK_EVERY_MS = 10;

type Held = { after: number; untilMs: number; jobs: () => readonly Sent<typeof FullJob>[] };

/** The feed of a stand-in. It compares the jobs itself, so nothing has to report changes to it. */
export class SideFeed {
  readonly #isHeld: boolean;
  readonly #monotonicMs: () => number;
  readonly #held = new Set<Held>();
  readonly #seen = new Map<string, { text: string; number: number }>();
  #last = 0;
  #forgotten = 0;
  /** Every request, in order. */
  readonly requests: FeedRequest[] = [];
  lie: FeedLie | null = null;
  /** What each answer says of pull requests that wait for a review. */
  waitingReviews: Sent<typeof JobChanges>["waitingReviews"];

  /**
   * If `isHeld` is true, an answer waits for a change, as it should, by this clock. Otherwise it
   * comes at once.
   */
  constructor(isHeld: boolean, monotonicMs: () => number) {
    this.#isHeld = isHeld;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * The times at which the requests that wait for a change are answered without one, by the feed's
   * clock.
   */
  get heldUntilMs(): number[] {
    return [...this.#held].filter((held) => this.#waits(held)).map(({ untilMs }) => untilMs);
  }

  /** Forgets every cursor. Changes since then are never reported. */
  forget(): void {
    this.#forgotten = this.#last + 1;
    this.#last += 1;
  }

  /** True if the latest request names the newest cursor. */
  get isCaughtUp(): boolean {
    return this.requests.at(-1)?.after === `c${this.#last}`;
  }

  async answer(
    asked: FeedRequest,
    jobs: () => readonly Sent<typeof FullJob>[],
    response: ServerResponse,
  ): Promise<SideReply> {
    this.requests.push(asked);
    this.#look(jobs());
    if (asked.after === null) return this.#reply([], this.#last);
    const after = Number(asked.after.replace(/^c/, ""));
    const isKnown = () => after <= this.#last && after >= this.#forgotten;
    const unknown = { status: 410, json: { error: "No such cursor" } };
    if (!isKnown()) return unknown;
    const held = { after, untilMs: this.#monotonicMs() + (this.#isHeld ? asked.wait * 1000 : 0), jobs };
    this.#held.add(held);
    while (this.#waits(held) && !response.destroyed) await sleep(LOOK_EVERY_MS);
    this.#held.delete(held);
    if (!isKnown()) return unknown;
    const numberOf = ({ id }: Sent<typeof FullJob>) => this.#seen.get(id)?.number ?? 0;
    const changed = jobs().filter((job) => numberOf(job) > after);
    return this.#reply(changed, Math.max(after, ...changed.map(numberOf)));
  }

  #waits({ after, untilMs, jobs }: Held): boolean {
    this.#look(jobs());
    return this.#last <= after && this.#monotonicMs() < untilMs;
  }

  #look(jobs: readonly Sent<typeof FullJob>[]): void {
    for (const job of jobs) {
      const text = JSON.stringify(job);
      if (this.#seen.get(job.id)?.text !== text) this.#seen.set(job.id, { text, number: ++this.#last });
    }
  }

  #reply(jobs: readonly Sent<typeof FullJob>[], next: number): SideReply {
    const { waitingReviews } = this;
    return { status: 200, json: { jobs, next: `c${next}`, ...(waitingReviews && { waitingReviews }) } };
  }
}
