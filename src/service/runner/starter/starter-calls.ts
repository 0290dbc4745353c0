import type { Ending } from "../process-group.ts";

/** What is to be started. Arguments are never a shell's words. */
export type StartedProgram = {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Written to its file descriptors from 3 on. */
  inputs?: readonly Uint8Array[] | undefined;
  maxOutputBytes: number;
};

/** A program that is run to its end, and what it gets on its standard input. */
export type RunProgram = StartedProgram & { stdin: Uint8Array | string; timeLimitMs: number };

/**
 * What the service's process wants, of the process with that id. `run`: start it, and tell its start and its end alone. `start`: start it, and tell what it writes as it
 * writes it; its time is kept by the service.
 */
export type StarterOrder =
  | { kind: "run"; id: number; program: RunProgram }
  | { kind: "start"; id: number; program: StartedProgram }
  | { kind: "input"; id: number; chunk: Uint8Array }
  | { kind: "end-input"; id: number }
  | { kind: "stop"; id: number }
  /** Whether it is well. */
  | { kind: "ask"; id: number };

/** What a process that was run came to. Of standard error, the end. */
export type RanProgram = { ending: Ending; stdout: Uint8Array; stderr: string };

/** What the process with that id does. */
export type StarterNews =
  | ({ kind: "ran"; id: number } & RanProgram)
  | { kind: "started"; id: number; pid: number | undefined }
  | { kind: "wrote"; id: number; to: "stdout" | "stderr"; chunk: Uint8Array }
  /** What was last written to its standard input is on its way to it. */
  | { kind: "took-input"; id: number }
  /** It reads nothing more. */
  | { kind: "closed-input"; id: number }
  | { kind: "ended"; id: number; ending: Ending }
  | { kind: "well"; id: number };

/** Whether a message from the service's process is an order. */
export function isStarterOrder(message: unknown): message is StarterOrder {
  return isCall(message);
}

/** Whether a message to the service's process is news of a process. */
export function isStarterNews(message: unknown): message is StarterNews {
  return isCall(message);
}

/** Both sides are of one version: the one starts the other. */
function isCall(message: unknown): boolean {
  return typeof message === "object" && message !== null && "kind" in message && "id" in message;
}
