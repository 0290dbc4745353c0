import type { Keyv } from "keyv";
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { RecordStore } from "../core/records.ts";
import { DocsAgentError } from "../errors.ts";
import { unreadableTextOf } from "./keyv.ts";

/** A record that its own schema refuses was about to be written: a fault in the program. */
export class RecordInvalidError extends DocsAgentError {
  readonly code = "record_invalid";

  constructor(name: string, id: string, reason: string, options?: ErrorOptions) {
    super(`The record ${name}/${id} was not written, as it does not fit its schema: ${reason}`, options);
  }
}

export type RecordStoreOptions<T> = {
  /** From `openKeyv`. */
  keyv: Keyv;
  /** Where records go that do not parse, under `<name>:<id>`. From `openKeyv`. */
  setAside: Keyv;
  /** What the records are: "jobs", "threads", … */
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

/** Records in a Keyv, parsed on write and on read, so that nothing outside the schema gets in or out. */
export function createRecordStore<T>(options: RecordStoreOptions<T>): RecordStore<T> {
  return new KeyvRecordStore(options);
}

class KeyvRecordStore<T> implements RecordStore<T> {
  readonly #options: RecordStoreOptions<T>;
  /** The last write of each id that has one under way. */
  readonly #writes = new Map<string, Promise<void>>();

  constructor(options: RecordStoreOptions<T>) {
    this.#options = options;
  }

  async get(id: string): Promise<T | undefined> {
    const { keyv, schema } = this.#options;
    const stored: unknown = await keyv.get(id);
    if (stored === undefined) return undefined;
    const parsed = schema.safeParse(stored);
    if (parsed.success) return parsed.data;
    await this.#inOrder(id, () => this.#setAside(id));
    return undefined;
  }

  async set(id: string, value: T, ttlMs?: number): Promise<void> {
    const { keyv, name, schema } = this.#options;
    const parsed = schema.safeParse(value);
    if (!parsed.success) {
      throw new RecordInvalidError(name, id, reasonOf(parsed.error), { cause: parsed.error });
    }
    await this.#inOrder(id, async () => {
      await keyv.set(id, parsed.data, ttlMs);
    });
  }

  async delete(id: string): Promise<void> {
    await this.#inOrder(id, async () => {
      await this.#options.keyv.delete(id);
    });
  }

  /** Reads again, as a good record may have been written since the read that found a bad one. */
  async #setAside(id: string): Promise<void> {
    const { keyv, setAside, name, schema, clock, logger, onSetAside } = this.#options;
    const stored: unknown = await keyv.get(id);
    if (stored === undefined) return;
    const parsed = schema.safeParse(stored);
    if (parsed.success) return;
    const text = unreadableTextOf(stored);
    const record: SetAsideRecord = {
      version: 1,
      raw: text ?? JSON.stringify(stored),
      reason: text === undefined ? reasonOf(parsed.error) : "not JSON",
      at: clock.now(),
    };
    await setAside.set(`${name}:${id}`, record);
    await keyv.delete(id);
    logger.error({ record: name, id, reason: record.reason }, "store: a record does not parse; set aside");
    onSetAside?.();
  }

  /** Runs the writes of one id one after the other: Keyv cannot delete a record only if it is still the one that was read. */
  async #inOrder(id: string, write: () => Promise<void>): Promise<void> {
    const previous = this.#writes.get(id) ?? Promise.resolve();
    const current = previous.then(write, write);
    this.#writes.set(id, current);
    try {
      await current;
    } finally {
      if (this.#writes.get(id) === current) this.#writes.delete(id);
    }
  }
}

/** Where and how a value fails its schema, without the value. */
function reasonOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "record"}: ${issue.code}`).join(", ");
}
