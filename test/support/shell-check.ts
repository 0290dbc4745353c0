import type { CommandCheck } from "../../src/service/config/check-settings.ts";

/** A check of a project, as its settings have it. */
export type Check = CommandCheck;

/** Makes a check whose tool is a script of the shell. */
export function shellCheck(script: string, changes: Partial<Check> = {}): Check {
  return {
    name: "words",
    command: ["sh", "-c", script],
    cwd: ".",
    env: {},
    timeoutSeconds: 30,
    blocking: true,
    readable: [],
    mounts: [],
    ...changes,
  };
}
