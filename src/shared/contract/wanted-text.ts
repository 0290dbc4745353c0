import { z } from "zod";
import { wordsIn } from "../text/text.ts";

/** A text that isn't empty. `want` says what the client must send: it follows "must be". */
export function boundedText(want: string, maxChars: number): z.ZodString {
  return z.string(want).min(1, want).max(maxChars, want);
}

/**
 * A well-formed text with something to read in it. `want` is as in {@link boundedText}.
 * @default maxChars there is no bound
 */
export function textWithWords(want: string, maxChars?: number): z.ZodString {
  const text = maxChars === undefined ? z.string(want).min(1, want) : boundedText(want, maxChars);
  return text.refine((given) => wordsIn(given) !== "" && given.isWellFormed(), want);
}
