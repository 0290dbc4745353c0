import { z } from "zod";

/** A text with such JSON in it. */
export function json<T>(schema: z.ZodType<T>) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue("not JSON");
        return z.NEVER;
      }
    })
    .pipe(schema);
}
