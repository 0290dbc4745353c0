import type { DatabaseSync, StatementSync } from "node:sqlite";

const MAX_CHARS = 8 * 1024 ** 2;
/** What an entry takes beside its text. */
const ENTRY_CHARS = 500;

/**
 * Texts that were made of what is in the database, kept only until something is written to it: by this connection, or by another process, whose
 * write counts from the next look on. Bounded in size.
 */
export class ReadCache {
  readonly #ownChanges: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #texts = new Map<string, string>();
  #chars = 0;
  #seenOwn: unknown = null;
  #seenOthers: unknown = null;

  constructor(db: DatabaseSync) {
    this.#ownChanges = db.prepare("SELECT total_changes() AS changes");
    this.#dataVersion = db.prepare("PRAGMA data_version");
  }

  /** The text of that name. `read` makes it, at once, where it isn't kept; null is never kept. */
  get(name: string, read: () => string | null): string | null {
    this.#look();
    const kept = this.#texts.get(name);
    if (kept !== undefined) return kept;
    // Read after the look: what is written in between makes the next look forget this.
    const text = read();
    if (text === null) return null;
    const chars = name.length + text.length + ENTRY_CHARS;
    if (this.#chars + chars > MAX_CHARS) this.#forget();
    if (chars > MAX_CHARS) return text;
    this.#texts.set(name, text);
    this.#chars += chars;
    return text;
  }

  #look(): void {
    const own = this.#ownChanges.get()?.["changes"];
    const others = this.#dataVersion.get()?.["data_version"];
    if (own === this.#seenOwn && others === this.#seenOthers) return;
    this.#forget();
    this.#seenOwn = own;
    this.#seenOthers = others;
  }

  #forget(): void {
    this.#texts.clear();
    this.#chars = 0;
  }
}
