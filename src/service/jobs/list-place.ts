import { isJobId } from "../config/branches.ts";

/**
 * A place between jobs in a list. The newest jobs come first, and those of the same moment are
 * sorted by id.
 */
export type ListPlace = { createdAt: number; id: string };

/** The place before the newest job. */
export const LIST_START: ListPlace = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };

/** Converts a place to a cursor: text that means nothing to clients. */
export function toCursor({ createdAt, id }: ListPlace): string {
  return Buffer.from(`${createdAt}.${id}`).toString("base64url");
}

/** The place in a cursor of {@link toCursor}. Null if the cursor is invalid. */
export function parseCursor(cursor: string): ListPlace | null {
  const [, createdAt, id = ""] = /^(\d{1,15})\.(.+)$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  return isJobId(id) ? { createdAt: Number(createdAt), id } : null;
}
