import { z } from "zod";
import { jsonOf } from "../../shared/text/text.ts";

/** Parses a text as JSON and checks it against this schema. */
export function json<T>(schema: z.ZodType<T>) {
  return z.string().transform(jsonOf).pipe(schema);
}
