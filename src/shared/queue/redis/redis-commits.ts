import { hash } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../machine/ports.ts";
import type { DecisionOf, TaskEnd } from "../task-queue.ts";
import { DocsAgentError, LimitReachedError, isStoreUnconfirmed } from "../../errors.ts";
import type { KindOf, Kinds, ReadOf, WriteOf } from "../../store/record-types.ts";
import type { SetAside } from "../../store/keyv-record-store.ts";
import type { RedisStore } from "../../store/redis/open-redis-store.ts";
import type { RedisStorage } from "../../store/redis/redis-storage.ts";
import {
  type Pools,
  toStorablePayload,
  toStorableReason,
  toStorableTask,
  toWholeMs,
} from "../storable-task.ts";
import type { RedisWork } from "./redis-work.ts";

/**
 * Another process has taken the task over because this one was silent for too long. This run's
 * results no longer count.
 */
export class ClaimLostError extends DocsAgentError {
  readonly code = "claim_lost";

  constructor() {
    super("Another replica has taken over this task, because this one was silent for too long.");
  }
}

/**
 * The run on whose behalf something is written. It is written only while that run has the claim.
 */
export type TaskClaim = { id: string; token: string };

const Answer = z.union([
  z.tuple([z.literal("ok"), z.string()]),
  z.tuple([z.literal("lost")]),
  z.tuple([z.literal("stale"), z.array(z.string().nullable())]),
  z.tuple([z.literal("full"), z.string(), z.coerce.number()]),
]);

type CarryOutOptions<T> = {
  claim?: TaskClaim;
  endOf?: (value: T) => TaskEnd;
  mayBeUnconfirmed?: boolean;
};

type Options<R extends Kinds> = { store: RedisStore<R>; clock: Clock; work: RedisWork; pools: Pools };

/**
 * The most attempts at a decision. Others may write in between often, but not endlessly. Bytes that
 * aren't text never equal what was read.
 */
const ROUNDS = 1_000;

type AsideOfKind<R extends Kinds> = SetAside & { kind: KindOf<R> };
/** The entries that a decision read, by key, as it saw them. `aside`: it can't be parsed. */
type Seen<R extends Kinds> = Map<
  string,
  { storage: RedisStorage; text: string | undefined; aside?: AsideOfKind<R> }
>;
/** An entry to write, or to remove. `keep` is what the script reads as how long to keep it. */
type Entry = { storage: RedisStorage; key: string; text?: string; keep: number | "" | "none" };
const REMOVED = { keep: "none" } as const;

/**
 * Carries out decisions on Redis. A decision runs on the records as last seen, or as earlier
 * decisions of this process are about to write them. The script carries it out only if the records
 * still match. If they don't, the decision runs again on the current records.
 */
export class RedisCommits<R extends Kinds> {
  readonly #options: Options<R>;

  constructor(options: Options<R>) {
    this.#options = options;
  }

  /**
   * Writes everything the decision says, or nothing. With `claim`, rejects with a {@link
   * ClaimLostError} unless that run still has its task. `endOf` gives the run's end. Rejects with a
   * {@link LimitReachedError} if a limit of the plan has no room. `added` says for each task if it
   * was added. Rejects with a `StoreUnconfirmedError` if too few standbys confirm in time, unless
   * `mayBeUnconfirmed`.
   */
  carryOut<T>(
    decide: DecisionOf<R, T>,
    { claim, endOf, mayBeUnconfirmed = false }: CarryOutOptions<T> = {},
  ): Promise<{ value: T; added: boolean[] }> {
    const { store, work, pools, clock } = this.#options;
    const { keyOf } = store.series;
    return this.#onRecords(decide, async (plan, seen) => {
      const { writes = [], removes = [], adds = [], appends = [], within = [], value } = plan;
      const now = clock.now();
      const asides = [...seen.values()].flatMap(({ aside }) => aside ?? []);
      const entries = [
        ...asides.flatMap((aside) => this.#asideEntries(aside)),
        ...writes.flatMap((write) => this.#entryOf(write, seen) ?? []),
      ];
      const args = [
        ...(claim === undefined ? ["", ""] : [claim.id, claim.token]),
        ...counted([...seen].map(([key, { text }]) => [key, text === undefined ? "" : hash("sha1", text)])),
        ...counted(within.map(({ gate, limit, windowMs }) => [gate, limit, windowMs])),
        ...counted(entries.map(({ key, keep, text = "" }) => [key, keep, text])),
        ...counted(appends.map((to) => [keyOf(to.series), to.entry, to.keep, Math.ceil(to.ttlMs)])),
        endWord(endOf?.(value), now),
        ...counted(removes.map((id) => [id])),
        ...counted(
          adds.map((task) => {
            const { id, type, pool, onDuplicate, payload, dueAt } = toStorableTask(task, now, pools);
            return [id, type, pool, onDuplicate, payload, dueAt - now];
          }),
        ),
      ];
      const asked = work.ask({ kind: "commit", args });
      for (const { storage, key, text } of entries) storage.saw(key, text);
      const { answer: answered, call } = await asked;
      const answer = Answer.parse(answered);
      if (answer[0] === "ok") {
        for (const aside of asides) store.recordsOf(aside.kind).wasSetAside(aside);
        await this.#confirm(call, mayBeUnconfirmed);
        return { value, added: answer[1].split("").map((flag) => flag === "1") };
      }
      // Nothing was written.
      for (const { storage, key, text } of entries) {
        if (storage.last(key) === text) storage.saw(key, seen.get(key)?.text);
      }
      if (answer[0] === "lost") throw new ClaimLostError();
      if (answer[0] === "full") throw new LimitReachedError(answer[1], Math.ceil(now + answer[2]));
      const stale = answer[1];
      for (let n = 0; n < stale.length; n += 2) {
        const key = stale[n] ?? "";
        seen.get(key)?.storage.saw(key, stale[n + 1] ?? undefined);
      }
      return null;
    });
  }

  /** Waits until enough standbys have a call. While too few do, `isOptional` doesn't wait. */
  async #confirm(call: number, isOptional: boolean): Promise<void> {
    const { work, store } = this.#options;
    const { confirmations } = store;
    if (confirmations === null || (isOptional && confirmations.isShort)) return;
    try {
      await confirmations.confirm(call);
    } catch (thrown) {
      if (!isOptional || !isStoreUnconfirmed(thrown)) throw thrown;
    }
    // Until now a run that ended held its place, for which something else may be due.
    work.callSoon();
  }

  /** Answers from the current records, reading each once. */
  async read<T>(ask: (read: ReadOf<R>) => T): Promise<T> {
    const { value } = await this.#onRecords(ask, async (value, seen) =>
      (await this.#isCurrent(seen)) ? { value } : null,
    );
    return value;
  }

  /** Decides and acts, until `act` resolves to a value. Null means that a record had changed. */
  async #onRecords<P, T>(
    decide: (read: ReadOf<R>) => P,
    act: (made: P, seen: Seen<R>) => Promise<T | null>,
  ): Promise<T> {
    const seen: Seen<R> = new Map();
    for (let round = 0; round < ROUNDS; round += 1) {
      seen.clear();
      let made;
      try {
        made = decide((kind, id) => this.#read(seen, kind, id));
      } catch (thrown) {
        if (await this.#isCurrent(seen)) throw thrown;
        continue;
      }
      const done = await act(made, seen);
      if (done !== null) return done;
    }
    const keys = [...seen.keys()].join(", ");
    throw new TypeError(`A record that is decided on was never what it was read as: ${keys}`);
  }

  #read<K extends KindOf<R>>(seen: Seen<R>, kind: K, id: string): R[K] | undefined {
    const store = this.#options.store.recordsOf(kind);
    const { storage } = store;
    const key = storage.keyOf(id);
    const { text: entry } = seen.get(key) ?? { text: storage.last(key) };
    const text = storage.current(entry);
    const { record, aside } = text === undefined ? NOTHING : store.fromText(id, text);
    seen.set(key, { storage, text: entry, ...(aside !== null && { aside: { ...aside, kind } }) });
    return record;
  }

  /**
   * Resolves to true if Redis still has what was read. Otherwise, stores what Redis has now as last
   * seen.
   */
  async #isCurrent(seen: Seen<R>): Promise<boolean> {
    const keys = [...seen.keys()];
    if (keys.length === 0) return true;
    const texts = await this.#options.store.redis.ask((client) => client.mGet(keys));
    const isSame = keys.every((key, n) => seen.get(key)?.text === (texts[n] ?? undefined));
    for (const [n, key] of keys.entries()) seen.get(key)?.storage.saw(key, texts[n] ?? undefined);
    return isSame;
  }

  /** Null if it keeps the end of something that isn't there. */
  #entryOf<K extends KindOf<R>>(
    { kind, id, record, ttlMs, keepsEnd }: WriteOf<R, K>,
    seen: Seen<R>,
  ): Entry | null {
    const store = this.#options.store.recordsOf(kind);
    const { storage } = store;
    const key = storage.keyOf(id);
    if (record === null) return { storage, key, ...REMOVED };
    const text = store.toText(id, record);
    const entry = keepsEnd ? storage.rewritten(text, seen.get(key)?.text) : storage.entry(text, ttlMs);
    return entry && { storage, key, ...entry };
  }

  #asideEntries({ kind, id, key, text }: AsideOfKind<R>): Entry[] {
    const { setAside, keepSetAsideMs, recordsOf } = this.#options.store;
    const { storage } = recordsOf(kind);
    return [
      { storage: setAside, key: setAside.keyOf(key), ...setAside.entry(text, keepSetAsideMs) },
      { storage, key: storage.keyOf(id), ...REMOVED },
    ];
  }
}

const NOTHING = { record: undefined, aside: null };

/** A count, followed by the words themselves. */
function counted(all: readonly (readonly (string | number)[])[]): (string | number)[] {
  return [all.length, ...all.flat()];
}

/**
 * A run's end in the script's format: JSON, with its time relative to now. Empty if the run goes
 * on.
 */
function endWord(end: TaskEnd | undefined, now: number): string {
  if (end === undefined) return "";
  const reason = "reason" in end ? toStorableReason(end.reason) : "";
  if (!("dueAt" in end)) return JSON.stringify({ ...end, reason });
  const payload = toStorablePayload(end) ?? undefined;
  return JSON.stringify({ ...end, reason, payload, due: toWholeMs(end.dueAt) - now });
}
