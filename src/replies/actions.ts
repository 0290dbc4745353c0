import { z } from "zod";

/** Action ids of the buttons that messages carry. */
export const VIEW_PULL_REQUEST = "view_pull_request";
export const TRY_AGAIN = "try_again";
export const KEEP_WATCHING = "keep_watching";

/** What a button carries back: which watch of which turn it belongs to. */
export const ButtonValue = z.object({ turnId: z.string(), watch: z.number().int() });
export type ButtonValue = z.infer<typeof ButtonValue>;

export function buttonValue(value: ButtonValue): string {
  return JSON.stringify(value);
}

/** Null for anything that is not a value of ours. */
export function parseButtonValue(value: string | undefined): ButtonValue | null {
  try {
    return ButtonValue.parse(JSON.parse(value ?? ""));
  } catch {
    return null;
  }
}
