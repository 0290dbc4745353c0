import { idsIn, readableText, withNames } from "../rules/words/readable-text.ts";
import { withPlainCode } from "../../shared/text/text.ts";
import type { Segment } from "../rules/turn/request.ts";
import { lookUpNames } from "../gather/gather-context.ts";
import type { IntakeDeps } from "./deps.ts";

/** Slack waits 3 s for an answer, and storing the request has to fit in, too. */
const NAMES_WITHIN_MS = 1_000;

/**
 * What a person typed, as text. People, channels and groups have names, as far as Slack gives them
 * within a second.
 */
export async function typedWords(
  deps: Pick<IntakeDeps, "clock" | "directory">,
  typed: readonly Segment[],
): Promise<string> {
  const names = await lookUpNames(deps, idsIn(typed), NAMES_WITHIN_MS);
  return withPlainCode(readableText(withNames(typed, names)));
}
