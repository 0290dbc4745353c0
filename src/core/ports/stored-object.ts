import { z } from "zod";

/**
 * The schema of an object in a record or a task's payload. Fields that a newer version added
 * survive when this version reads and writes it back: during a rolling deploy both versions work on
 * the same records.
 */
export function storedObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}
