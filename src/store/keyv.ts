import { Keyv } from "keyv";
import { z } from "zod";
import type { Logger } from "../core/logger.ts";
import { messageOf } from "../errors.ts";

/** Stands in for a stored value that is no JSON: `get` yields it instead of throwing, so that the text can be set aside. */
const UnreadableValue = z.strictObject({ "docs-agent:unreadable": z.string() });
type UnreadableValue = z.infer<typeof UnreadableValue>;

/** Of any type: what reads it parses it. */
const Envelope = z.object({ value: z.any() });

type OpenKeyvOptions = {
  /** A storage adapter that prefixes keys itself and expires entries itself. */
  store: object;
  namespace: string;
  logger: Logger;
};

/**
 * A Keyv that rejects when its storage fails. Entries live as long as the storage's own `ttl` says; text in the storage
 * that is no JSON reads as a value that {@link unreadableTextOf} recognizes.
 */
export function openKeyv({ store, namespace, logger }: OpenKeyvOptions): Keyv {
  const keyv = new Keyv({
    store,
    namespace,
    throwOnErrors: true,
    // Keyv leaves out its prefix when a key happens to start with it: key "jobs:1" would be key "1" of namespace "jobs".
    useKeyPrefix: false,
    serialize,
    deserialize,
  });
  // Without a listener, a connection that drops between two calls would end the process.
  keyv.on("error", (thrown: unknown) =>
    logger.warn({ namespace, error: messageOf(thrown) }, "store: storage reported an error"),
  );
  return keyv;
}

/** The text of a value that could not be read as JSON, or undefined for any other value. */
export function unreadableTextOf(value: unknown): string | undefined {
  const marker = UnreadableValue.safeParse(value);
  return marker.success ? marker.data["docs-agent:unreadable"] : undefined;
}

/** Leaves out Keyv's own `expires`: it comes from `Date.now()`, and the storage expires entries by the injected clock. */
export function serialize({ value }: { value?: unknown }): string {
  return JSON.stringify({ value });
}

export function deserialize<Value>(text: string): { value?: Value } {
  return envelopeOf(text);
}

function envelopeOf(text: string): z.infer<typeof Envelope> {
  try {
    const { data } = Envelope.safeParse(JSON.parse(text));
    if (data !== undefined) return data;
  } catch {
    // No JSON.
  }
  return { value: unreadable(text) };
}

function unreadable(text: string): UnreadableValue {
  return { "docs-agent:unreadable": text };
}
