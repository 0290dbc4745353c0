import { existsSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { AgentMood } from "../agent-mood.ts";
import { DocsAgentError } from "../../src/shared/errors.ts";
import type { Ask } from "./which-page.ts";

/** The agent was told to fail. The message is for the person who asked. */
export class ToldToFailError extends DocsAgentError {
  readonly code = "told_to_fail";
}

/** What the person who is asked first can say. */
const GO_AHEAD = "Yes, go ahead";
const LEAVE_IT = "No, leave it";

/** A slow turn takes about this long, and longer for many pages. */
const SLOW_TURN_MS = 30_000;
const SLOW_PAGE_MS = 3000;
const LOOK_AGAIN_MS = 250;

/**
 * The mood that the file names now; normal where there is no such file, or something else in it.
 */
export function moodIn(file: string | undefined): AgentMood {
  if (file === undefined || !existsSync(file)) return "normal";
  const said = AgentMood.safeParse(readFileSync(file, "utf8").trim());
  return said.success ? said.data : "normal";
}

/**
 * Waits before one of so many pages, as long as the mood stays slow. Throws the signal's reason
 * when it is aborted.
 */
export async function dawdle(moodOf: () => AgentMood, pages: number, signal: AbortSignal): Promise<void> {
  const until = performance.now() + Math.max(SLOW_PAGE_MS, SLOW_TURN_MS / Math.max(1, pages));
  while (moodOf() === "slow" && performance.now() < until) {
    signal.throwIfAborted();
    await wait(LOOK_AGAIN_MS);
  }
  signal.throwIfAborted();
}

/**
 * Resolves to false if the person who was asked says no. If there is nobody to ask, or no answer,
 * that counts as a yes.
 */
export async function isAllowed(what: string, ask: Ask): Promise<boolean> {
  return (await ask(`Shall I ${what}?`, [GO_AHEAD, LEAVE_IT])) !== LEAVE_IT;
}
