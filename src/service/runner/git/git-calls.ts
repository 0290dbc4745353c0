import type { Ending } from "../process-group.ts";

/** A process that is to be started, or, when only `id` is there, to stop. */
export type GitOrder = {
  id: number;
  process?: {
    args: readonly string[];
    cwd: string;
    env: Readonly<Record<string, string>>;
    stdin: Uint8Array | string;
    timeLimitMs: number;
    maxOutputBytes: number;
  };
};

/** How the process of that id ended, and what it wrote; of standard error, the end. */
export type GitEnding = { id: number; ending: Ending; stdout: Uint8Array; stderr: string };

/** Whether a message from the service's process is an order. */
export function isGitOrder(message: unknown): message is GitOrder {
  return typeof message === "object" && message !== null && "id" in message;
}

/** Whether a message to the service's process says how a process of git ended. */
export function isGitEnding(message: unknown): message is GitEnding {
  return typeof message === "object" && message !== null && "id" in message && "ending" in message;
}
