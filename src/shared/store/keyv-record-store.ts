import { Keyv } from "keyv";
import { z } from "zod";
import type { Clock, Logger } from "../machine/ports.ts";
import { DocsAgentError, messageOf } from "../errors.ts";
import { keepNewest } from "./keep-newest.ts";
import { jsonOf } from "../text/text.ts";
import type { KindOf, Kinds, RecordReader, RecordStore, SchemasOf } from "./record-types.ts";

/**
 * A record that doesn't fit its own schema was about to be written, which is a fault in the
 * program.
 */
class RecordInvalidError extends DocsAgentError {
  readonly code = "record_invalid";

  constructor(name: string, id: string, reason: string, options?: ErrorOptions) {
    super(`The record ${name}/${id} was not written, as it does not fit its schema: ${reason}`, options);
  }
}

/** A Keyv storage for one namespace. It prefixes keys and expires entries itself. */
export type RecordStorage = {
  readonly namespace: string;
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string, ttlMs?: number): Promise<unknown>;
  /** Removes the entry atomically, only if it is still `text`. Resolves to true if it did. */
  deleteIf(key: string, text: string): Promise<boolean>;
};

/** A record that couldn't be parsed, and the key and text under which it is kept. */
export type SetAside = { id: string; reason: string; key: string; text: string };

export type RecordsOptions<R extends Kinds> = {
  schemas: SchemasOf<R>;
  clock: Clock;
  logger: Logger;
  /** How long a record that can't be parsed is kept for the operator, milliseconds. */
  keepSetAsideMs: number;
};

type RecordStoreOptions<T, S> = Omit<RecordsOptions<Kinds>, "schemas"> & {
  storage: S;
  /** Where records go that can't be parsed, under `<name>:<id>`. */
  setAside: RecordStorage;
  /** Its output must parse again, so transforms must be repeatable. */
  schema: z.ZodType<T>;
  /** Called once for each record set aside. */
  onSetAside: () => void;
};

/** The most parsed records that a store remembers. */
const PARSED_MAX = 1_000;

/** Any type, because the reader parses it. */
const Envelope = z.object({ value: z.any() });

/** A store's records, with one storage per kind. */
export type Records<R extends Kinds, S extends RecordStorage> = {
  records: RecordReader<R>;
  recordsOf: <K extends KindOf<R>>(kind: K) => KeyvRecordStore<R[K], S>;
  /** Where records go that can't be parsed, under `<kind>:<id>`. */
  setAside: S;
  setAsideCount(): number;
  /** Records under a custom name of lower-case letters, digits and hyphens. */
  recordsNamed<T>(name: string, schema: z.ZodType<T>): KeyvRecordStore<T, S>;
};

export function openRecords<R extends Kinds, S extends RecordStorage>(
  storageOf: (namespace: string) => S,
  { schemas, ...options }: RecordsOptions<R>,
): Records<R, S> {
  let setAsideCount = 0;
  const setAside = storageOf("set-aside");
  const shared = {
    ...options,
    setAside,
    onSetAside: () => (setAsideCount += 1),
  };
  const opened: { [K in KindOf<R>]?: KeyvRecordStore<R[K], S> } = {};
  function named<T>(name: string, schema: z.ZodType<T>): KeyvRecordStore<T, S> {
    return new KeyvRecordStore({ ...shared, storage: storageOf(name), schema });
  }
  function recordsOf<K extends KindOf<R>>(kind: K): KeyvRecordStore<R[K], S> {
    return (opened[kind] ??= named<R[K]>(kind, schemas[kind]));
  }
  return {
    records: { get: (kind, id) => recordsOf(kind).get(id) },
    recordsOf,
    setAside,
    setAsideCount: () => setAsideCount,
    recordsNamed: named,
  };
}

/**
 * Leaves out Keyv's own `expires`. It comes from `Date.now()`, while the storage expires entries by
 * the injected clock.
 */
function serialize({ value }: { value?: unknown }): string {
  return JSON.stringify({ value });
}

/** Records in a Keyv, parsed on write and on read, so that only valid records get in or out. */
class KeyvRecordStore<T, S extends RecordStorage> implements RecordStore<T> {
  readonly storage: S;
  readonly #options: RecordStoreOptions<T, S>;
  readonly #keyv: Keyv;
  /**
   * Remembered with their text, so that a record somebody else wrote is never mistaken for them.
   */
  readonly #parsed = new Map<string, { text: string; record: T }>();

  constructor(options: RecordStoreOptions<T, S>) {
    this.#options = options;
    this.storage = options.storage;
    const { storage: store, logger } = options;
    const { namespace } = store;
    // Keyv leaves out its prefix if a key happens to start with it: key "jobs:1" would become key
    // "1" of namespace "jobs".
    this.#keyv = new Keyv({ store, namespace, throwOnErrors: true, useKeyPrefix: false, serialize });
    // Without a listener, a connection that drops between two calls would end the process.
    this.#keyv.on("error", (thrown: unknown) =>
      logger.warn({ namespace, error: messageOf(thrown) }, "store: storage reported an error"),
    );
  }

  async get(id: string): Promise<T | undefined> {
    const text = await this.storage.get(id);
    if (text === undefined) return undefined;
    const { record, aside } = this.fromText(id, text);
    if (aside !== null) {
      await this.#options.setAside.set(aside.key, aside.text, this.#options.keepSetAsideMs);
      // A good record may have been written since.
      if (await this.storage.deleteIf(id, text)) this.wasSetAside(aside);
    }
    return record;
  }

  async set(id: string, value: T, ttlMs?: number): Promise<void> {
    await this.#keyv.set(id, this.#validated(id, value), ttlMs);
  }

  async delete(id: string): Promise<void> {
    await this.#keyv.delete(id);
  }

  /** Parses a stored text: the record or, if it can't be parsed, what to keep of it. */
  fromText(id: string, text: string): { record: T | undefined; aside: SetAside | null } {
    const known = this.#parsed.get(id);
    if (known?.text === text) return { record: known.record, aside: null };
    const envelope = Envelope.safeParse(jsonOf(text)).data;
    const parsed = this.#options.schema.safeParse(envelope?.value);
    if (parsed.success) {
      keepNewest(this.#parsed, id, { text, record: parsed.data }, PARSED_MAX);
      return { record: parsed.data, aside: null };
    }
    const [raw, reason] =
      envelope === undefined ? [text, "not JSON"] : [JSON.stringify(envelope.value), reasonOf(parsed.error)];
    const kept = serialize({ value: { version: 1, raw, reason, at: this.#options.clock.now() } });
    const key = `${this.storage.namespace}:${id}`;
    return { record: undefined, aside: { id, reason, key, text: kept } };
  }

  /** The text that stores a record. Throws a {@link RecordInvalidError}. */
  toText(id: string, record: T): string {
    const valid = this.#validated(id, record);
    const text = serialize({ value: valid });
    keepNewest(this.#parsed, id, { text, record: valid }, PARSED_MAX);
    return text;
  }

  /** Logs and counts a record that was set aside. */
  wasSetAside({ id, reason }: SetAside): void {
    const fields = { record: this.storage.namespace, id, reason };
    this.#options.logger.error(fields, "store: a record does not parse; set aside");
    this.#options.onSetAside();
  }

  #validated(id: string, value: T): T {
    const parsed = this.#options.schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new RecordInvalidError(this.storage.namespace, id, reasonOf(parsed.error), { cause: parsed.error });
  }
}

/** Says where and how a value fails its schema, without the value. */
function reasonOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "record"}: ${issue.code}`).join(", ");
}
