import { z } from "zod";
import type { Files } from "../files.ts";

/** Words in a file of the repository (`docs`), of a context, or in the request (`request`). */
const NamedSource = z.object({
  repository: z.string(),
  path: z.string().default(""),
  quote: z.string().default(""),
});
export type NamedSource = z.infer<typeof NamedSource>;

/**
 * A statement of an agent's and its source, as in the file of its sources. `converted` says that a
 * value has another form there.
 */
export const NamedClaim = z.object({
  page: z.string().default(""),
  statement: z.string(),
  source: NamedSource,
  converted: z.boolean().default(false),
});
export type NamedClaim = z.infer<typeof NamedClaim>;

/** What is judged: a repository before and after a task, and what the agent said. */
export type Solved = {
  before: Files;
  after: Files;
  /** The files with the reference solution. Null if the task has none. */
  reference: Files | null;
  contexts: ReadonlyMap<string, Files>;
  /** The request and the messages that came with it. */
  told: string;
  /** The agent's last words. */
  words: string;
  /** The sources that the agent named. Null if that isn't known. */
  claims: readonly NamedClaim[] | null;
};

/** The reason why a check fails, in a few lines. Null if it passes. */
export type Problem = string | null;

const MAX_SHOWN = 5;
const MAX_LENGTH = 160;

/** A problem from a list of findings. Null if there are none. */
export function listed(lead: string, items: readonly string[]): Problem {
  if (items.length === 0) return null;
  const shown = items
    .slice(0, MAX_SHOWN)
    .map((item) => (item.length > MAX_LENGTH ? `${item.slice(0, MAX_LENGTH)}…` : item));
  const more = items.length > MAX_SHOWN ? ` and ${items.length - MAX_SHOWN} more` : "";
  return `${lead} ${shown.join(", ")}${more}`;
}
