import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Env } from "../service/config/env.ts";
import { messageOf } from "../shared/errors.ts";

type RunOptions = {
  cwd: string;
  env: Env;
  timeLimitMs: number;
  /** Whose rights it has, if they aren't this process's. */
  user?: { uid: number; gid: number } | null;
};

/** How a program ended. Its exit code is null if it couldn't be run, or didn't end in time. */
export type ProgramRun = { code: number | null; stdout: string; said: string };

const KEPT_CHARS = 4_000;

/** Runs a program to its end. `said` is the end of what it wrote, for people. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  { cwd, env, timeLimitMs, user = null }: RunOptions,
): Promise<ProgramRun> {
  const child = spawn(command, args, {
    cwd,
    timeout: timeLimitMs,
    stdio: ["ignore", "pipe", "pipe"],
    env: user === null ? { ...env } : { ...env, HOME: cwd },
    ...user,
  });
  const run: ProgramRun = { code: null, stdout: "", said: "" };
  const say = (text: string) => (run.said = (run.said + text).slice(-KEPT_CHARS));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    run.stdout += text;
    say(text);
  });
  child.stderr.setEncoding("utf8").on("data", say);
  child.once("error", (error) => say(messageOf(error)));
  await once(child, "close").catch(() => {});
  return { ...run, code: child.exitCode };
}
