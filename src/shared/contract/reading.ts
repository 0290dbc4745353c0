import { z } from "zod";

/** The most UTF-16 units that a record shows of each text. A client reads no more. */
export const SHOWN_CHARS = { reason: 1000, summary: 4000, line: 300, path: 200, finding: 150 } as const;

/** A time: sent as ISO 8601, UTC, and read as epoch milliseconds. */
export const Time = z.codec(z.iso.datetime(), z.int(), {
  decode: (text) => Date.parse(text),
  encode: toTimestamp,
});

/** A whole number from 0 on. */
export const Count = z.int().min(0);

/** Epoch milliseconds as `YYYY-MM-DDThh:mm:ssZ`. */
export function toTimestamp(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

/** What is sent for a schema of the contract: its times are ISO 8601. */
export type Sent<T extends z.ZodType> = z.input<T>;

/** A list without its unreadable items. */
export function readableItems<T extends z.ZodType>(item: T, max: number) {
  return z
    .array(z.unknown())
    .catch([])
    .transform((items) =>
      items.flatMap((each): z.output<T>[] => {
        const parsed = item.safeParse(each);
        return parsed.success ? [parsed.data] : [];
      }),
    )
    .transform((items) => items.slice(-max));
}

/**
 * The schema of an object in a record or a task's payload. Fields that a newer version added
 * survive when this version reads and writes it back: during a rolling deploy both versions work on
 * the same records.
 */
export function storedObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}
