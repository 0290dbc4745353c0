import { createHash } from "node:crypto";

/** What the last lines of a commit's message name the job and the turn by. */
export const JOB_TRAILER = "Docs-Agent-Job";
export const TURN_TRAILER = "Docs-Agent-Turn";

/** Names a turn of a job: its number and what was asked. */
export function turnKeyOf({ prompt, number }: { prompt: string; number: number }): string {
  const asked = createHash("sha256").update(prompt).digest("hex").slice(0, 16);
  return `${number}-${asked}`;
}
