import type { RecordKind, RecordOf, RecordStore } from "../core/records.ts";
import type { Series } from "../core/task-queue.ts";
import type { Slots } from "../core/slots.ts";

/** Everything the app remembers, in one place. */
export interface Store extends AsyncDisposable {
  readonly slots: Slots;
  readonly series: Series;
  /** The records, by kind. */
  readonly records: { readonly [K in RecordKind]: RecordStore<RecordOf<K>> };
  /** How many records were set aside since the store was opened. */
  setAsideCount(): number;
  /** What a crash or a power cut may cost, in words for the operator; null: nothing that was answered. */
  readonly risk: string | null;
  /** Rejects with a `StoreUnavailableError` unless a value can be written now. */
  check(): Promise<void>;
  /** Gives up whatever the store holds open. Idempotent. Stop what uses the store first. */
  close(): Promise<void>;
}

/** The records of all kinds, out of what a store keeps for each. */
export function recordsOf(kinds: {
  readonly [K in RecordKind]: { readonly store: RecordStore<RecordOf<K>> };
}): Store["records"] {
  return {
    turn: kinds.turn.store,
    job: kinds.job.store,
    thread: kinds.thread.store,
    draft: kinds.draft.store,
    service: kinds.service.store,
    notice: kinds.notice.store,
    reply: kinds.reply.store,
    withheld: kinds.withheld.store,
    asked: kinds.asked.store,
  };
}
