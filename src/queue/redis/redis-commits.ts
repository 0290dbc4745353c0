import { hash } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Read, RecordKind, RecordOf, Write, WriteOf } from "../../core/records.ts";
import type { Decision, TaskEnd } from "../../core/task-queue.ts";
import { DocsAgentError, LimitReachedError } from "../../errors.ts";
import { type SetAsideRecord, serialize } from "../../store/record-store.ts";
import type { RedisStore } from "../../store/redis/open-redis-store.ts";
import {
  type Pools,
  toStorablePayload,
  toStorableReason,
  toStorableTask,
  toWholeMs,
} from "../storable-task.ts";
import type { RedisWork } from "./redis-work.ts";

/**
 * Another process runs the task by now: this one was silent for too long. What it still does counts
 * for nothing.
 */
export class ClaimLostError extends DocsAgentError {
  readonly code = "claim_lost";

  constructor() {
    super("Another replica has taken over this task, because this one was silent for too long.");
  }
}

/**
 * The run of a task on whose behalf something is written: it is written only while that run has the
 * claim.
 */
export type Claim = { id: string; token: string };

const Answer = z.union([
  z.tuple([z.literal("lost")]),
  z.tuple([z.literal("stale"), z.array(z.string().nullable())]),
  z.tuple([z.literal("full"), z.string(), z.coerce.number()]),
  z.tuple([z.literal("ok"), z.string()]),
]);

type Options = {
  store: RedisStore;
  clock: Clock;
  work: RedisWork;
  pools: Pools;
};

/**
 * Somebody else may write in between again and again, but not without end. Bytes that are not text
 * never equal what was read.
 */
const ROUNDS = 1_000;

/** The entries that a decision read, by key, as it took them to be. */
type Seen = Map<string, { kind: RecordKind; text: string | undefined }>;
/** What is written under a key; `kind`: of which kind that record is, if it is one of a kind. */
type Entry = { kind: RecordKind | null; key: string; text: string | undefined; keepMs: number };
type SetAside = { kind: RecordKind; id: string; bad: SetAsideRecord };

/**
 * Carries decisions out on Redis. A decision runs on the records as they were last seen, or as
 * decisions before it here are about to write them. The script carries it out only if they are so
 * at that moment. If not, it runs again on what is there.
 */
export class RedisCommits {
  readonly #store: RedisStore;
  readonly #clock: Clock;
  readonly #work: RedisWork;
  readonly #pools: Pools;

  constructor({ store, clock, work, pools }: Options) {
    this.#store = store;
    this.#clock = clock;
    this.#work = work;
    this.#pools = pools;
  }

  /**
   * Writes what the decision says, all of it or nothing. `claim`: rejects with a {@link
   * ClaimLostError} unless that run still has its task. `endOf`: how the run ends. Rejects with a
   * {@link LimitReachedError} when a limit of the plan has no room. `added`: for each task, whether
   * it was added.
   */
  async carryOut<T>(
    decide: Decision<T>,
    { claim, endOf }: { claim?: Claim | undefined; endOf?: (value: T) => TaskEnd } = {},
  ): Promise<{ value: T; added: boolean[] }> {
    const seen: Seen = new Map();
    for (let round = 0; round < ROUNDS; round += 1) {
      seen.clear();
      const asideOf: SetAside[] = [];
      let plan;
      try {
        plan = decide(this.#readerOf(seen, asideOf));
      } catch (thrown) {
        if (await this.#isCurrent(seen)) throw thrown;
        continue;
      }
      const { writes = [], adds = [], appends = [], within = [], value } = plan;
      const now = this.#clock.now();
      const entries: Entry[] = [
        ...asideOf.flatMap((aside) => this.#asideEntries(aside)),
        ...writes.map((write) => this.#entryOf(write)),
      ];
      const args = [
        ...(claim === undefined ? ["", ""] : [claim.id, claim.token]),
        ...counted([...seen].map(([key, { text }]) => [key, text === undefined ? "" : hash("sha1", text)])),
        ...counted(within.map(({ gate, limit, windowMs }) => [gate, String(limit), String(windowMs)])),
        ...counted(entries.map(({ key, text, keepMs }) => [key, keepWord(text, keepMs), text ?? ""])),
        ...counted(
          appends.map(({ series, entry, keep, ttlMs }) => {
            return [this.#store.series.keyOf(series), entry, String(keep), String(Math.ceil(ttlMs))];
          }),
        ),
        endWord(endOf?.(value), now),
        ...counted(
          adds.map((task) => {
            const { id, type, pool, known, payload, dueAt } = toStorableTask(task, now, this.#pools);
            return [id, type, pool, known, payload, String(dueAt - now)];
          }),
        ),
      ];
      const asked = this.#work.ask({ kind: "commit", args }, (answer) => this.#learn(seen, entries, answer));
      for (const { kind, key, text } of entries)
        if (kind !== null) this.#store.kinds[kind].storage.saw(key, text);
      const answer = Answer.parse(await asked);
      switch (answer[0]) {
        case "lost":
          throw new ClaimLostError();
        case "stale":
          continue;
        case "full":
          throw new LimitReachedError(answer[1], Math.ceil(now + answer[2]));
        case "ok":
          for (const { kind, id, bad } of asideOf) this.#store.kinds[kind].wasSetAside(id, bad);
          return { value, added: answer[1].split("").map((flag) => flag === "1") };
      }
    }
    throw neverAsRead(seen);
  }

  /** Answers from the records as they are, each read once. */
  async read<T>(ask: (read: Read) => T): Promise<T> {
    const seen: Seen = new Map();
    for (let round = 0; round < ROUNDS; round += 1) {
      seen.clear();
      let answer;
      try {
        answer = { value: ask(this.#readerOf(seen, [])) };
      } catch (thrown) {
        if (await this.#isCurrent(seen)) throw thrown;
        continue;
      }
      if (await this.#isCurrent(seen)) return answer.value;
    }
    throw neverAsRead(seen);
  }

  #readerOf(seen: Seen, asideOf: SetAside[]): Read {
    return (kind, id) => this.#read(seen, asideOf, kind, id);
  }

  #read<K extends RecordKind>(seen: Seen, asideOf: SetAside[], kind: K, id: string): RecordOf<K> | undefined {
    const store = this.#store.kinds[kind];
    const { storage } = store;
    const key = storage.keyOf(id);
    const entry = seen.get(key) ?? { kind, text: storage.last(key) };
    seen.set(key, entry);
    const text = storage.current(entry.text);
    if (text === undefined) return undefined;
    const { record, bad } = store.fromText(id, text);
    if (bad !== null && !asideOf.some((aside) => aside.kind === kind && aside.id === id))
      asideOf.push({ kind, id, bad });
    return record;
  }

  /** Whether all that was read is so at Redis. If not, it is from now on what was seen last. */
  async #isCurrent(seen: Seen): Promise<boolean> {
    const keys = [...seen.keys()];
    if (keys.length === 0) return true;
    const texts = await this.#store.redis.ask((client) => client.mGet(keys));
    const isSame = keys.every((key, n) => seen.get(key)?.text === (texts[n] ?? undefined));
    for (const [n, key] of keys.entries()) this.#saw(seen, key, texts[n] ?? undefined);
    return isSame;
  }

  /**
   * Unless it was carried out: what was to be written isn't there, and something else than what was
   * read may be.
   */
  #learn(seen: Seen, entries: readonly Entry[], answer: unknown): void {
    const parsed = Answer.safeParse(answer).data;
    if (parsed?.[0] === "ok") return;
    for (const { kind, key, text } of entries) {
      if (kind === null || this.#store.kinds[kind].storage.last(key) !== text) continue;
      this.#store.kinds[kind].storage.saw(key, seen.get(key)?.text);
    }
    if (parsed?.[0] !== "stale") return;
    for (let n = 0; n < parsed[1].length; n += 2) {
      this.#saw(seen, parsed[1][n] ?? "", parsed[1][n + 1] ?? undefined);
    }
  }

  #saw(seen: Seen, key: string, text: string | undefined): void {
    const kind = seen.get(key)?.kind;
    if (kind !== undefined) this.#store.kinds[kind].storage.saw(key, text);
  }

  #entryOf(write: Write): Entry {
    return this.#entryOfKind(write);
  }

  #entryOfKind<K extends RecordKind>({ kind, id, record, ttlMs }: WriteOf<K>): Entry {
    const store = this.#store.kinds[kind];
    const { storage } = store;
    const key = storage.keyOf(id);
    if (record === null) return { kind, key, text: undefined, keepMs: 0 };
    return { kind, key, ...storage.entry(store.toText(id, record), ttlMs) };
  }

  #asideEntries({ kind, id, bad }: SetAside): Entry[] {
    const { setAside, keepSetAsideMs, kinds } = this.#store;
    return [
      {
        kind: null,
        key: setAside.keyOf(`${kind}:${id}`),
        ...setAside.entry(serialize({ value: bad }), keepSetAsideMs),
      },
      { kind, key: kinds[kind].storage.keyOf(id), text: undefined, keepMs: 0 },
    ];
  }
}

/** How many there are, and then their words. */
function counted(all: readonly (readonly string[])[]): string[] {
  return [String(all.length), ...all.flat()];
}

/** How long Redis keeps an entry, as the script takes it. */
function keepWord(text: string | undefined, keepMs: number): string {
  if (text === undefined) return "none";
  return keepMs > 0 ? String(keepMs) : "";
}

/** How a run ends, as the script takes it: JSON, with its time from now; empty: it goes on. */
function endWord(end: TaskEnd | undefined, now: number): string {
  if (end === undefined) return "";
  const reason = "reason" in end ? toStorableReason(end.reason) : "";
  if (!("dueAt" in end)) return JSON.stringify({ ...end, reason });
  const payload = toStorablePayload(end) ?? undefined;
  return JSON.stringify({ ...end, reason, payload, due: toWholeMs(end.dueAt) - now });
}

function neverAsRead(seen: Seen): TypeError {
  const keys = [...seen.keys()].join(", ");
  return new TypeError(`A record that is decided on was never what it was read as: ${keys}`);
}
