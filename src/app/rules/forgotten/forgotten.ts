import { hash } from "node:crypto";
import { KEEP_DONE_MS } from "../../../shared/queue/storable-task.ts";
import type { Read, Write } from "../records.ts";

/** Stands where an id of a person was that something has to keep, such as who stopped a turn. */
export const FORGOTTEN = "forgotten";

/** Stands where words were. */
export const FORGOTTEN_WORDS = "(forgotten)";

/**
 * True if what has this id, such as a request, was forgotten with its person. If Slack sends it
 * again, nothing is asked twice.
 */
export function isForgotten(read: Read, id: string): boolean {
  return read("forgotten", markOf(id)) !== undefined;
}

/** Notes that what had this id is forgotten, for as long as Slack may send it again. */
export function forgottenWrite(id: string): Write {
  return { kind: "forgotten", id: markOf(id), record: { version: 1 }, ttlMs: KEEP_DONE_MS };
}

/** An id may name a person's direct messages with the app. */
function markOf(id: string): string {
  return hash("sha256", id, "base64url").slice(0, 22);
}
