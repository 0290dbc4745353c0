import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Read, RecordKind, RecordOf, Write, WriteOf } from "../../core/records.ts";
import type { Decision, TaskEnd } from "../../core/task-queue.ts";
import { LimitReachedError } from "../../errors.ts";
import { serialize } from "../../store/keyv.ts";
import type { SetAsideRecord } from "../../store/record-store.ts";
import type { RedisStore } from "../../store/redis/open-redis-store.ts";
import { toStorablePayload, toStorableReason, toStorableTask, toWholeMs } from "../storable-task.ts";
import { ClaimLostError } from "./claim-lost-error.ts";
import type { RedisWork } from "./redis-work.ts";
import { type ToTell, toTell } from "./to-tell.ts";

/** The run of a task on whose behalf something is written: it is written only while that run has the claim. */
export type Claim = { id: string; token: string };

const Answer = z.union([
  z.tuple([z.literal("lost")]),
  z.tuple([z.literal("stale"), z.array(z.string().nullable())]),
  z.tuple([z.literal("full"), z.string(), z.coerce.number()]),
  z.tuple([z.literal("ok"), z.string(), z.array(z.string())]),
]);

type Options = {
  store: RedisStore;
  clock: Clock;
  work: RedisWork;
  poolOf: (type: string, share: string | null) => string;
  keepDoneMs: number;
};

/** Somebody else may write in between again and again, but not without end. Bytes that are not text never equal what was read. */
const ROUNDS = 1_000;

/** An entry as a decision took it to be. `isSure`: it was read for this decision, and not only remembered. */
type Seen = { kind: RecordKind; id: string; text: string | undefined; isSure: boolean };
/** What is written under a key; `kind`: of which kind that record is, if it is one of a kind. */
type Entry = { kind: RecordKind | null; key: string; text: string | undefined; keepMs: number };
type SetAside = { kind: RecordKind; id: string; bad: SetAsideRecord };

/**
 * Carries decisions out on Redis. A decision runs on the records as they were last seen; a script writes what it says only if they still are so,
 * and otherwise it runs again on those that are there.
 */
export class RedisCommits {
  readonly #store: RedisStore;
  readonly #clock: Clock;
  readonly #work: RedisWork;
  readonly #poolOf: Options["poolOf"];
  readonly #keepDoneMs: number;

  constructor({ store, clock, work, poolOf, keepDoneMs }: Options) {
    this.#store = store;
    this.#clock = clock;
    this.#work = work;
    this.#poolOf = poolOf;
    this.#keepDoneMs = keepDoneMs;
  }

  /**
   * Writes what the decision says, all of it or nothing. `claim`: rejects with a {@link ClaimLostError} unless that run still has its task. `endOf`:
   * how the run ends. Rejects with a {@link LimitReachedError} when a limit of the plan has no room. `added`: for each task, whether it was added. `told`: what BullMQ is to be told.
   */
  async carryOut<T>(
    decide: Decision<T>,
    { claim, endOf }: { claim?: Claim | undefined; endOf?: (value: T) => TaskEnd } = {},
  ): Promise<{ value: T; added: boolean[]; told: ToTell[] }> {
    const seen = new Map<string, Seen>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const asideOf: SetAside[] = [];
      let plan;
      try {
        plan = decide(this.#readerOf(seen, asideOf));
      } catch (thrown) {
        if (await this.#makeSure(seen)) continue;
        throw thrown;
      }
      const { writes = [], adds = [], within = [], value } = plan;
      const now = this.#clock.now();
      const entries: Entry[] = [
        ...asideOf.flatMap((aside) => this.#asideEntries(aside)),
        ...writes.map((write) => this.#entryOf(write)),
      ];
      const end = endOf?.(value);
      const answer = Answer.parse(
        await this.#work.ask({
          kind: "commit",
          keepDoneMs: this.#keepDoneMs,
          claim,
          checks: [...seen].map(([key, { text }]) => [key, text ?? false]),
          within,
          writes: entries.map(({ key, text, keepMs }) => [key, text ?? false, keepMs]),
          adds: adds.map((task) => {
            const { id, type, share, known, payload, dueAt } = toStorableTask(task, now);
            return { id, type, pool: this.#poolOf(type, share), known, payload, due: dueAt - now };
          }),
          end: end === undefined ? undefined : storableEnd(end, now),
        }),
      );
      switch (answer[0]) {
        case "lost":
          throw new ClaimLostError();
        case "stale":
          this.#correct(seen, answer[1]);
          continue;
        case "full":
          throw new LimitReachedError(answer[1], Math.ceil(now + answer[2]));
        case "ok":
          for (const { kind, key, text } of entries)
            if (kind !== null) this.#store.kinds[kind].storage.saw(key, text);
          for (const { kind, id, bad } of asideOf) this.#store.kinds[kind].store.wasSetAside(id, bad);
          return {
            value,
            added: answer[1].split("").map((flag) => flag === "1"),
            told: toTell(answer[2], this.#clock.now()),
          };
      }
    }
    throw new TypeError(
      `A record that is decided on was never what it was read as: ${[...seen.keys()].join(", ")}`,
    );
  }

  #readerOf(seen: Map<string, Seen>, asideOf: SetAside[]): Read {
    return (kind, id) => this.#read(seen, asideOf, kind, id);
  }

  #read<K extends RecordKind>(
    seen: Map<string, Seen>,
    asideOf: SetAside[],
    kind: K,
    id: string,
  ): RecordOf<K> | undefined {
    const { store, storage } = this.#store.kinds[kind];
    const key = storage.keyOf(id);
    let entry = seen.get(key);
    if (entry === undefined) {
      entry = { kind, id, text: storage.last(key), isSure: false };
      seen.set(key, entry);
    }
    const text = storage.current(entry.text);
    if (text === undefined) return undefined;
    const record = store.fromText(id, text);
    const bad = record === undefined ? store.badRecordOf(text) : null;
    if (bad !== null && !asideOf.some((aside) => aside.kind === kind && aside.id === id))
      asideOf.push({ kind, id, bad });
    return record;
  }

  /** Reads what a decision only remembered. False: there is nothing of the kind. */
  async #makeSure(seen: Map<string, Seen>): Promise<boolean> {
    const unsure = [...seen].filter(([, { isSure }]) => !isSure);
    if (unsure.length === 0) return false;
    const texts = await this.#store.redis.ask((client) => client.mGet(unsure.map(([key]) => key)));
    this.#correct(
      seen,
      unsure.flatMap(([key], n) => [key, texts[n] ?? null]),
    );
    return true;
  }

  /** Takes over what is there: pairs of key and text. */
  #correct(seen: Map<string, Seen>, pairs: readonly (string | null)[]): void {
    for (let n = 0; n < pairs.length; n += 2) {
      const key = pairs[n] ?? "";
      const entry = seen.get(key);
      if (entry === undefined) continue;
      const text = pairs[n + 1] ?? undefined;
      seen.set(key, { ...entry, text, isSure: true });
      this.#store.kinds[entry.kind].storage.saw(key, text);
    }
  }

  #entryOf(write: Write): Entry {
    return this.#entryOfKind(write);
  }

  #entryOfKind<K extends RecordKind>({ kind, id, record, ttlMs }: WriteOf<K>): Entry {
    const { store, storage } = this.#store.kinds[kind];
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

/** Times count from now. */
function storableEnd(end: TaskEnd, now: number): object {
  switch (end.kind) {
    case "done":
      return { kind: end.kind };
    case "dead":
      return { kind: end.kind, reason: toStorableReason(end.reason) };
    case "again":
    case "wait":
      return {
        kind: end.kind,
        due: toWholeMs(end.dueAt) - now,
        payload: toStorablePayload(end) ?? undefined,
      };
    case "retry":
      return {
        kind: end.kind,
        due: toWholeMs(end.dueAt) - now,
        payload: toStorablePayload(end) ?? undefined,
        reason: toStorableReason(end.reason),
        isSurprise: end.isSurprise === true,
      };
  }
}
