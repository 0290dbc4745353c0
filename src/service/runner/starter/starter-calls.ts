import type { Ending } from "../process-group.ts";

/** A program that is to be run to its end. */
export type StartedProgram = {
  command: string;
  /** Never a shell's words. */
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: Uint8Array | string;
  timeLimitMs: number;
  maxOutputBytes: number;
};

/** A program that is to be started, or, when only `id` is there, to stop. */
export type StarterOrder = { id: number; program?: StartedProgram };

/** How the process of that id ended, and what it wrote; of standard error, the end. */
export type StarterEnding = { id: number; ending: Ending; stdout: Uint8Array; stderr: string };

/** Whether a message from the service's process is an order. */
export function isStarterOrder(message: unknown): message is StarterOrder {
  return typeof message === "object" && message !== null && "id" in message;
}

/** Whether a message to the service's process says how a process ended. */
export function isStarterEnding(message: unknown): message is StarterEnding {
  return typeof message === "object" && message !== null && "id" in message && "ending" in message;
}
