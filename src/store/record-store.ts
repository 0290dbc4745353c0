import type { Keyv } from "keyv";
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { RecordStore } from "../core/records.ts";
import { DocsAgentError } from "../errors.ts";
import { deserialize, serialize, unreadableTextOf } from "./keyv.ts";
import { remember } from "./remember.ts";

/** A record that its own schema refuses was about to be written: a fault in the program. */
class RecordInvalidError extends DocsAgentError {
  readonly code = "record_invalid";

  constructor(name: string, id: string, reason: string, options?: ErrorOptions) {
    super(`The record ${name}/${id} was not written, as it does not fit its schema: ${reason}`, options);
  }
}

/** What a record store needs of Keyv's storage besides Keyv. */
export type RecordStorage = {
  get(key: string): Promise<string | undefined>;
  /** Removes the entry only if it is `text` at that moment, atomically. Resolves to whether it did. */
  deleteIf(key: string, text: string): Promise<boolean>;
};

type RecordStoreOptions<T> = {
  /** From `openKeyv`. */
  keyv: Keyv;
  /** What `keyv` stands on. */
  storage: RecordStorage;
  /** Where records go that do not parse, under `<name>:<id>`. From `openKeyv`. */
  setAside: Keyv;
  /** How long they are kept there, milliseconds. */
  keepSetAsideMs: number;
  /** What the records are: "turn", "thread", … */
  name: string;
  /** Its output must parse again: no transforms that only work once. */
  schema: z.ZodType<T>;
  clock: Clock;
  logger: Logger;
  /** Called once for each record that was set aside. */
  onSetAside?: () => void;
};

/** What is kept of a record that did not parse. */
export type SetAsideRecord = { version: 1; raw: string; reason: string; at: number };

/** How many records a store remembers as parsed. */
const PARSED_MAX = 500;

/** Records in a Keyv, parsed on write and on read, so that nothing that the schema refuses gets in or out. */
export class KeyvRecordStore<T> implements RecordStore<T> {
  readonly #options: RecordStoreOptions<T>;
  /** By their text, so that what somebody else wrote is never taken for it. */
  readonly #parsed = new Map<string, { text: string; record: T }>();

  constructor(options: RecordStoreOptions<T>) {
    this.#options = options;
  }

  async get(id: string): Promise<T | undefined> {
    const text = await this.#options.storage.get(id);
    if (text === undefined) return undefined;
    const record = this.fromText(id, text);
    if (record === undefined) await this.setAside(id);
    return record;
  }

  async set(id: string, value: T, ttlMs?: number): Promise<void> {
    await this.#options.keyv.set(id, this.#validated(id, value), ttlMs);
  }

  async delete(id: string): Promise<void> {
    await this.#options.keyv.delete(id);
  }

  /** The record that a stored text holds; undefined if it does not parse. */
  fromText(id: string, text: string): T | undefined {
    const known = this.#parsed.get(id);
    if (known?.text === text) return known.record;
    const parsed = this.#options.schema.safeParse(deserialize(text).value);
    if (!parsed.success) return undefined;
    remember(this.#parsed, id, { text, record: parsed.data }, PARSED_MAX);
    return parsed.data;
  }

  /** The text that stores a record. Throws a {@link RecordInvalidError}. */
  toText(id: string, record: T): string {
    const valid = this.#validated(id, record);
    const text = serialize({ value: valid });
    remember(this.#parsed, id, { text, record: valid }, PARSED_MAX);
    return text;
  }

  /** Moves what is stored there away if it does not parse. */
  async setAside(id: string): Promise<void> {
    const { storage, setAside, keepSetAsideMs, name } = this.#options;
    const text = await storage.get(id);
    const bad = text === undefined ? null : this.badRecordOf(text);
    if (text === undefined || bad === null) return;
    await setAside.set(`${name}:${id}`, bad, keepSetAsideMs);
    // A good record may have been written since.
    if (await storage.deleteIf(id, text)) this.wasSetAside(id, bad);
  }

  /** What is kept of a stored text that does not parse; null if it does. */
  badRecordOf(text: string): SetAsideRecord | null {
    const stored: unknown = deserialize(text).value;
    const parsed = this.#options.schema.safeParse(stored);
    if (parsed.success) return null;
    const unreadable = unreadableTextOf(stored);
    return {
      version: 1,
      raw: unreadable ?? JSON.stringify(stored),
      reason: unreadable === undefined ? reasonOf(parsed.error) : "not JSON",
      at: this.#options.clock.now(),
    };
  }

  /** Logs and counts it. */
  wasSetAside(id: string, { reason }: SetAsideRecord): void {
    const { name, logger, onSetAside } = this.#options;
    logger.error({ record: name, id, reason }, "store: a record does not parse; set aside");
    onSetAside?.();
  }

  #validated(id: string, value: T): T {
    const { name, schema } = this.#options;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new RecordInvalidError(name, id, reasonOf(parsed.error), { cause: parsed.error });
  }
}

/** Where and how a value fails its schema, without the value. */
function reasonOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "record"}: ${issue.code}`).join(", ");
}
