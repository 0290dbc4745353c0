import { existsSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { AgentMood } from "../agent-mood.ts";
import { DocsAgentError } from "../../src/shared/errors.ts";
import type { Ask } from "./which-page.ts";

/** The agent was told to fail. Its message is for the person who asked. */
export class ToldToFailError extends DocsAgentError {
  readonly code = "told_to_fail";
}

/** The first choice in the agent's question. */
const GO_AHEAD = "Yes, go ahead";
const LEAVE_IT = "No, leave it";

/** The approximate length of a slow turn. A turn with many pages takes longer. */
const SLOW_TURN_MS = 30_000;
const SLOW_PAGE_MS = 3000;
const LOOK_AGAIN_MS = 250;

/**
 * Returns the mood that the file names now, or `normal` if the file is missing or holds anything
 * else.
 */
export function moodIn(file: string | undefined): AgentMood {
  if (file === undefined || !existsSync(file)) return "normal";
  const said = AgentMood.safeParse(readFileSync(file, "utf8").trim());
  return said.success ? said.data : "normal";
}

/**
 * Waits before one of `pages` pages while the mood is slow. Throws the signal's reason when it is
 * aborted.
 */
export async function dawdle(moodOf: () => AgentMood, pages: number, signal: AbortSignal): Promise<void> {
  const until = performance.now() + Math.max(SLOW_PAGE_MS, SLOW_TURN_MS / Math.max(1, pages));
  while (moodOf() === "slow" && performance.now() < until) {
    signal.throwIfAborted();
    await wait(LOOK_AGAIN_MS);
  }
  signal.throwIfAborted();
}

const CHATTER = "Certainly! Here is the updated page:\n\n";

/** A page's text with words to the requester at its top, as language models leave them there. */
export function withChatter(text: string): string {
  return CHATTER + text;
}

/** The text without such words. */
export function withoutChatter(text: string): string {
  return text.replaceAll(CHATTER, "");
}

/**
 * Resolves to false if the person who is asked says no. Nobody to ask, or no answer, counts as a
 * yes.
 */
export async function isAllowed(what: string, ask: Ask): Promise<boolean> {
  return (await ask(`Shall I ${what}?`, [GO_AHEAD, LEAVE_IT])) !== LEAVE_IT;
}
