import { z } from "zod";
import { readableItems } from "../../../shared/contract/reading.ts";

/** The most items of a list that are read: ten pages of a hundred. */
export const MAX_ITEMS = 1000;

/**
 * A list, of which the first items are read. Checking a hundred thousand of them takes seconds, and
 * more faults than fit onto the stack.
 */
export function boundedList<T extends z.ZodType>(item: T) {
  return z
    .array(z.unknown())
    .transform((items) => items.slice(0, MAX_ITEMS))
    .pipe(z.array(item));
}

/** A list from either API, without null and unreadable items: the last ones. */
export function listOf<T extends z.ZodType>(item: T, max = MAX_ITEMS) {
  const Items = z.array(z.unknown());
  return Items.or(z.object({ nodes: Items }).transform(({ nodes }) => nodes))
    .nullish()
    .transform((items) => items?.slice(-max) ?? [])
    .pipe(readableItems(item, max));
}
