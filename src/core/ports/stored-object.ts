import { z } from "zod";

/**
 * The schema of an object in a record or in a task's payload. What a newer version of this program
 * added to it stays in it, unread, when this one reads it and writes it back: during a rolling
 * deploy both work on the same records.
 */
export function storedObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}
