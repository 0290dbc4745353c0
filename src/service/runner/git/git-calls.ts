import type { Ending } from "../process-group.ts";

/** A process that the git thread is to run, or, when only `id` is there, to stop. */
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
