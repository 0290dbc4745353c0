import { basename } from "node:path";
import { faultText } from "../../../base/run-error.ts";
import type { CommandCheck } from "../../../config/check-settings.ts";
import { forgetAgent, noteAgent } from "../../workspace/folders.ts";
import { type Ending, startProcessGroup } from "../../workspace/process-group.ts";
import { watchDisk } from "../../workspace/sandbox/disk-watch.ts";
import { findProgram } from "../../workspace/sandbox/program.ts";
import { type AgentLimits, plainEnv } from "../../workspace/sandbox/sandbox.ts";
import type { TurnContext } from "../../turn-context.ts";
import { type Obstacle, preparePlaces } from "../checks/kept-outputs.ts";
import type { ToolOutput } from "../checks/output-lines.ts";
import { openTree, type TurnTree } from "./open-tree.ts";

/** Further output isn't read. */
const MAX_OUTPUT_BYTES = 4 * 1024 ** 2;
/**
 * Shells use this code for a program that can't be run, the next for one that doesn't exist, and
 * higher ones for signals.
 */
const FIRST_SHELL_CODE = 126;

/** What a run of a check needs. */
export type CheckContext = Pick<TurnContext, "folders" | "mirror" | "trees" | "sandbox" | "apart"> &
  Pick<TurnContext, "env" | "clock" | "logger" | "signal" | "afterwards">;

/**
 * One run of a check. `place` is the name of its folders, which no other run has at the same time.
 */
type CheckRun = { check: CommandCheck; commit: string; place: string; limits: AgentLimits };

/**
 * Runs a check on a tree that is created from the commit for this purpose only, in a sandbox
 * without anything of the agent's and without a network. Resolves to its output, or to the reason
 * why that doesn't count. Rejects only if aborted.
 */
export async function runCheck(run: CheckRun, context: CheckContext): Promise<ToolOutput | Obstacle> {
  const { check, commit, place } = run;
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
    return (await preparePlaces(tree.folders.tree, check)) ?? (await runIn(tree, run, context));
  } catch (error) {
    context.signal.throwIfAborted();
    return { why: "it couldn't be started.", details: faultText(error) };
  }
}

async function runIn(
  { folders }: TurnTree,
  { check, place, limits }: CheckRun,
  context: CheckContext,
): Promise<ToolOutput | Obstacle> {
  const { command, cwd, readable, mounts, timeoutSeconds } = check;
  const { clock } = context;
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
  if (why !== null) {
    return { why, details: await context.apart.read("lastWords", text) };
  }
  // Without a sandbox, the paths of the tree and of its temporary folder differ in each run.
  const { tree, tmp } = sandbox.inside;
  const relative = text.replaceAll(`${tree}/`, "").replaceAll(tmp, "/tmp");
  return { text: relative, code: ending.kind === "exited" ? (ending.code ?? 0) : 0 };
}

/** Why an ending says nothing about the commit. Null if it does. */
function whyUseless(ending: Ending, check: CommandCheck): string | null {
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
      return code === null || code >= FIRST_SHELL_CODE ? "it broke off." : null;
    }
  }
}
