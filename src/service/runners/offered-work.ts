import { within, type Clock } from "../../shared/machine/ports.ts";
import { CLAIM_MS, type ClaimRequest, type LeasedWork } from "../runner/protocol.ts";

type Poll = { session: string; places: number; give: (work: LeasedWork | null) => void };

/** How long a runner that left work untaken gets none. */
const PAUSE_MS = { first: 15_000, max: 10 * 60_000 };

/** Work that waits for a runner, or the runner's question that waits for work, and its places. */
export class OfferedWork {
  readonly #clock: Clock;
  readonly #onGiven: (work: LeasedWork) => void;
  readonly #polls = new Set<Poll>();
  #outbox: LeasedWork[] = [];
  #reserved = 0;
  /** How often in a row the runner left work untaken, and until when it gets none for it. */
  #missed = { times: 0, untilMs: 0 };

  /** `onGiven` is called when work goes out to the runner. */
  constructor(clock: Clock, onGiven: (work: LeasedWork) => void) {
    this.#clock = clock;
    this.#onGiven = onGiven;
  }

  /** How many more turns the runner could take right now. */
  get freePlaces(): number {
    if (this.#clock.monotonicMs() < this.#missed.untilMs) return 0;
    const places = Math.max(0, ...this.#polls.values().map((poll) => poll.places));
    return Math.max(0, places - this.#reserved);
  }

  /** How many of the places are taken. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Keeps a place for a turn. The returned function gives it back. */
  reserve(): () => void {
    this.#reserved += 1;
    return () => {
      this.#reserved -= 1;
    };
  }

  /**
   * Resolves to the next piece of work, or to null if there is none for a while, the signal aborts
   * or the runner asks anew. `onPlaces` is called once the runner's places count.
   */
  async claim(
    { session, places }: Pick<ClaimRequest, "session" | "places">,
    signal: AbortSignal,
    onPlaces: () => void,
  ): Promise<LeasedWork | null> {
    // A runner has one question for work. Those before have no way back anymore.
    this.endPolls();
    const waiting = this.#next();
    if (waiting !== null) return waiting;
    const { promise, resolve } = Promise.withResolvers<LeasedWork | null>();
    const poll: Poll = { session, places, give: resolve };
    const giveUp = () => {
      // At once, so that nobody gives it work anymore.
      this.#polls.delete(poll);
      resolve(null);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    this.#polls.add(poll);
    try {
      onPlaces();
      return await within(this.#clock, CLAIM_MS, promise, null);
    } finally {
      this.#polls.delete(poll);
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** True if another process of the runner waits for work. */
  isAskedByAnother(session: string): boolean {
    return this.#polls.values().some((poll) => poll.session !== session);
  }

  /** All that wait for work get none. */
  endPolls(): void {
    const all = [...this.#polls];
    this.#polls.clear();
    for (const { give } of all) give(null);
  }

  /** Offers work. It goes to a question that waits, or to the next one. */
  put(work: LeasedWork): void {
    this.#outbox.push(work);
    const [poll] = this.#polls;
    if (poll === undefined) return;
    this.#polls.delete(poll);
    poll.give(this.#next());
  }

  /** True if the work is still here. */
  isWaiting(id: string): boolean {
    return this.#outbox.some((work) => work.id === id);
  }

  /** Takes work back, if it is still here. */
  withdraw(id: string): void {
    this.#outbox = this.#outbox.filter((work) => work.id !== id);
  }

  /** A runner that leaves work untaken again and again gets less and less of it. */
  noteUntaken(): void {
    const times = this.#missed.times + 1;
    const forMs = Math.min(PAUSE_MS.first * 2 ** (times - 1), PAUSE_MS.max);
    this.#missed = { times, untilMs: this.#clock.monotonicMs() + forMs };
  }

  /** Call this when the runner has taken work. */
  noteTaken(): void {
    this.#missed = { times: 0, untilMs: 0 };
  }

  #next(): LeasedWork | null {
    const work = this.#outbox.shift() ?? null;
    if (work !== null) this.#onGiven(work);
    return work;
  }
}
