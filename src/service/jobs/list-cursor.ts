import { isJobId } from "../branch.ts";

/** The place after a job in a list: the newest jobs come first, and those of one moment by id. */
export type ListPlace = { createdAt: number; id: string };

/** Before the newest job. */
export const LIST_START: ListPlace = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };

/** A place as clients get it: text that means nothing to them. */
export function toCursor({ createdAt, id }: ListPlace): string {
  return Buffer.from(`${createdAt}.${id}`).toString("base64url");
}

/** The place that a cursor of {@link toCursor} names; null: it is none. */
export function parseCursor(cursor: string): ListPlace | null {
  const [, createdAt, id = ""] = /^(\d{1,15})\.(.+)$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  return isJobId(id) ? { createdAt: Number(createdAt), id } : null;
}
