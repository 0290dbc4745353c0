import { basename } from "node:path";
import { presetOfCheck } from "../../config/check-presets.ts";
import { forgetAgent, noteAgent } from "../folders.ts";
import { endOf, oneLine } from "../../base/printable-text.ts";
import { type Ending, startProcessGroup } from "../process-group.ts";
import { faultText } from "../../base/run-error.ts";
import { watchDisk } from "../sandbox/disk-watch.ts";
import { plainEnv } from "../sandbox/plain-env.ts";
import { findProgram } from "../sandbox/program.ts";
import { openTree, type TurnTree } from "./open-tree.ts";
import type { RunContext, RunnerTurn } from "../turn.ts";
import type { ToolOutput } from "../verify/findings.ts";
import { type CheckSettings, type Obstacle, preparePlaces } from "../verify/mount-points.ts";

/** More output than that is not read. */
const MAX_OUTPUT_BYTES = 4 * 1024 ** 2;
const MAX_LAST_WORDS_LENGTH = 500;
/** A shell's, for a program that can't be run, or isn't there; above these, for signals. */
const FIRST_SHELL_CODE = 126;

export type CheckRun = {
  check: CheckSettings;
  commit: string;
  /** Names the run's folders, as no other does at the time. */
  place: string;
};

/**
 * Runs a check on a tree that is made from the commit for it alone, in a sandbox with nothing of
 * the agent's and without a network. Resolves to its output, or to why there is none that counts.
 * Rejects only when aborted.
 */
export async function runCheck(
  { check, commit, place }: CheckRun,
  turn: RunnerTurn,
  context: RunContext,
): Promise<ToolOutput | Obstacle> {
  const [program = ""] = check.command;
  try {
    if ((await findProgram(program, context.env["PATH"] ?? "/usr/bin:/bin")) === null) {
      return { why: `the program ${basename(program)} isn't installed.` };
    }
    if (check.mounts.length > 0 && context.sandbox.kind === "none") {
      // The check could write to the operator's folder.
      return { why: "it needs a sandbox, and there is none." };
    }
    using tree = await openTree(context, commit, place);
    return (
      (await preparePlaces(tree.folders.tree, check)) ?? (await runIn(tree, check, place, turn, context))
    );
  } catch (error) {
    context.signal.throwIfAborted();
    return { why: "it couldn't be started.", details: faultText(error) };
  }
}

async function runIn(
  { folders }: TurnTree,
  check: CheckSettings,
  place: string,
  { project }: RunnerTurn,
  context: RunContext,
): Promise<ToolOutput | Obstacle> {
  const { command, cwd, readable, mounts, timeoutSeconds } = check;
  const { clock } = context;
  const { limits } = project.agent;
  await using sandbox = await context.sandbox.open({
    folders,
    command: command[0] ?? "",
    readable,
    limits,
    shown: mounts,
    networkSocket: null,
  });
  using disk = watchDisk(folders.job, limits.diskMegabytes, { clock });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  const group = startProcessGroup({
    ...sandbox.contain(
      { command: "/bin/sh", args: ["-c", 'cd -P -- "$0" && exec "$@"', `./${cwd}`, ...command] },
      { ...plainEnv(context.env, sandbox.inside), NO_COLOR: "1", CI: "true", ...check.env },
    ),
    timeLimitMs: timeoutSeconds * 1000,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    clock,
    signal: AbortSignal.any([context.signal, disk.signal]),
    onStdout: (chunk) => void stdout.push(chunk),
    onStderr: (chunk) => void stderr.push(chunk),
  });
  group.stdin.end();
  try {
    if (group.pid !== undefined) await noteAgent(context.folders, place, group.pid);
  } finally {
    await group.ended;
    await forgetAgent(context.folders, place);
  }
  const ending = await group.ended;
  context.signal.throwIfAborted();
  const text = `${Buffer.concat(stdout).toString()}\n${Buffer.concat(stderr).toString()}`;
  if (disk.signal.aborted) return { why: "it wrote more to the disk than it may." };
  if (await sandbox.ranOutOfMemory()) return { why: "it needed more memory than it may use." };
  const why = whyUseless(ending, check);
  if (why !== null) return { why, details: lastWords(text, context) };
  // Where the tree lies depends on the run, where there is no sandbox.
  const relative = text.replaceAll(`${sandbox.inside.tree}/`, "");
  return { text: relative, isClean: ending.kind === "exited" && ending.code === 0 };
}

/** Why an ending says nothing about the commit; null: it does. */
function whyUseless(ending: Ending, check: CheckSettings): string | null {
  switch (ending.kind) {
    case "time-limit":
      return `it took longer than ${check.timeoutSeconds} seconds.`;
    case "output-limit":
      return "it wrote more than can be read.";
    case "not-started":
    case "stopped":
      return "it couldn't be started.";
    case "exited": {
      const { code } = ending;
      if (code === 127) return "its program isn't installed.";
      const isBroken =
        code === null || code >= FIRST_SHELL_CODE || presetOfCheck(check)?.brokenAt?.includes(code);
      return isBroken ? "it broke off." : null;
    }
  }
}

function lastWords(text: string, { redact }: RunContext): string {
  return endOf(oneLine(redact(text), Infinity), MAX_LAST_WORDS_LENGTH);
}
