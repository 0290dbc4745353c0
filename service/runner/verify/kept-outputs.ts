import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { locate } from "../sandbox/program.ts";
import type { ToolOutput } from "./findings.ts";
import type { CheckSettings } from "./mount-points.ts";

const MAX_CHARS = 32 * 1024 ** 2;

/** What checks said of base commits: in memory, the newest, so that follow-ups don't ask again. */
export class KeptOutputs {
  readonly #kept = new Map<string, ToolOutput>();

  get(key: string): ToolOutput | null {
    return this.#kept.get(key) ?? null;
  }

  keep(key: string, output: ToolOutput): void {
    this.#kept.set(key, output);
    let chars = 0;
    for (const [each, { text }] of [...this.#kept].toReversed()) {
      chars += each.length + text.length;
      if (chars > MAX_CHARS) this.#kept.delete(each);
    }
  }
}

/** Names what a check says of a commit: with another program or other settings, it is another. */
export async function outputKey(commit: string, check: CheckSettings, searchPath: string): Promise<string> {
  const program = await locate(check.command[0] ?? "", searchPath);
  const shown = [program ?? "", ...check.readable, ...check.mounts.map(({ from }) => from)];
  const times = await Promise.all(shown.map(async (path) => (await stat(path).catch(() => null))?.mtimeMs));
  return createHash("sha256")
    .update(JSON.stringify([commit, check, times]))
    .digest("hex");
}
