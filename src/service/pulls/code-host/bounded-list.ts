import { z } from "zod";

/** The most items of a list that are read. Of reviews there may be ten pages of a hundred. */
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
