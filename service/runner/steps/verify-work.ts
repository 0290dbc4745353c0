import { basename } from "node:path";
import { MAX_FINDINGS, type ReportedCheck } from "../../../src/core/ports/job-report.ts";
import { SHOWN_CHARS } from "../../../src/core/ports/reading.ts";
import { sentenceCase, redactedLine } from "../../base/printable-text.ts";
import { faultText } from "../../base/run-error.ts";
import { presetOfCheck } from "../../config/check-presets.ts";
import { forgetAgent, noteAgent } from "../folders.ts";
import { type Ending, startProcessGroup } from "../process-group.ts";
import type { TurnWork } from "../publish/turn-note.ts";
import { watchDisk } from "../sandbox/disk-watch.ts";
import { findProgram } from "../sandbox/program.ts";
import { plainEnv } from "../sandbox/sandbox.ts";
import type { RunContext, RunnerTurn } from "../turn.ts";
import type { ToolOutput } from "../verify/findings.ts";
import { type CheckSettings, type Obstacle, outputKey, preparePlaces } from "../verify/kept-outputs.ts";
import { openTree, type TurnTree } from "./open-tree.ts";

/** The most bytes of findings that the agent is told, in UTF-8. */
const MAX_BLOCKING_BYTES = 4096;

/** `blocking` are the new findings of blocking checks, for the agent. Bounded and redacted. */
export type Verified = Pick<TurnWork, "checks" | "hasBlockingFindings"> & { blocking: string };

/**
 * Runs the project's checks on both commits, one after the other: the one that would be pushed, and
 * its base. Only findings that are new in `commit` count. Rejects only if aborted.
 */
export async function verifyWork(
  turn: RunnerTurn,
  context: RunContext,
  { base, commit }: { base: string; commit: string },
): Promise<Verified> {
  const verified: Verified = { checks: [], hasBlockingFindings: false, blocking: "" };
  for (const [index, check] of turn.project.verify.entries()) {
    context.onProgress(`checking: ${check.name}`);
    const place = `${turn.jobId}.check${index}`;
    const before = await outputOfBase(check, base, `${place}-base`, turn, context);
    const after = "why" in before ? before : await runCheck(check, commit, `${place}-result`, turn, context);
    const { reported, lines } = await compared(check, before, after, context);
    verified.checks.push(reported);
    if (!check.blocking || reported.result !== "failed") continue;
    verified.hasBlockingFindings = true;
    verified.blocking += `${check.name}:\n${lines.map((line) => `- ${line}\n`).join("")}`;
  }
  return { ...verified, blocking: startOfBytes(verified.blocking, MAX_BLOCKING_BYTES) };
}

async function outputOfBase(
  check: CheckSettings,
  commit: string,
  place: string,
  turn: RunnerTurn,
  context: RunContext,
): Promise<ToolOutput | Obstacle> {
  const { limits } = turn.project.agent;
  const now = { searchPath: context.env["PATH"] ?? "", nowMs: context.clock.now() };
  const key = `${await outputKey(commit, check, now)} ${JSON.stringify(limits)}`;
  const kept = context.outputs.get(key);
  if (kept !== null) return kept;
  const output = await runCheck(check, commit, place, turn, context);
  if ("why" in output) return { ...output, why: `before the change, ${output.why}` };
  context.outputs.keep(key, output);
  return output;
}

async function compared(
  { name }: CheckSettings,
  before: ToolOutput | Obstacle,
  after: ToolOutput | Obstacle,
  { redact, logger, apart }: RunContext,
): Promise<{ reported: ReportedCheck; lines: string[] }> {
  // Redacted before it is cut, because half a secret is a secret, too.
  const shown = (text: string) => redactedLine(redact, text, SHOWN_CHARS.line);
  const told = (result: ReportedCheck["result"], lines: string[], count = lines.length) => {
    const rest = count - MAX_FINDINGS + 1;
    const findings = rest > 1 ? [...lines.slice(0, MAX_FINDINGS - 1), `… and ${rest} more`] : lines;
    return { reported: { name, result, findings }, lines };
  };
  const obstacle = "why" in before ? before : after;
  if ("why" in before || "why" in after) {
    logger.warn({ check: name, ...obstacle }, "a check couldn't run");
    return told("not-checked", "why" in obstacle ? [shown(sentenceCase(obstacle.why))] : []);
  }
  const { lines, count } = await apart.read("shownFindings", { base: before, result: after });
  if (count > 0) return told("failed", lines, count);
  if (after.isClean) return told("passed", []);
  if (before.isClean) return told("failed", ["It failed and didn't say why."]);
  return after.text.trim() === ""
    ? told("not-checked", ["It fails without saying why, and already did before the change."])
    : told("passed", []);
}

function startOfBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // Drops the character that the cut splits.
  return `${new TextDecoder().decode(bytes.subarray(0, maxBytes - 3), { stream: true })}…`;
}

/** Further output isn't read. */
const MAX_OUTPUT_BYTES = 4 * 1024 ** 2;
/**
 * Shells use this code for a program that can't be run, the next for one that doesn't exist, and
 * higher ones for signals.
 */
const FIRST_SHELL_CODE = 126;

/**
 * Runs a check on a tree that is created from the commit for this purpose only, in a sandbox
 * without anything of the agent's and without a network. Resolves to its output, or to the reason
 * why that doesn't count. `place` is the name of the run's folders, which no other run has at the
 * same time. Rejects only if aborted.
 */
async function runCheck(
  check: CheckSettings,
  commit: string,
  place: string,
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
  if (why !== null) {
    return { why, details: await context.apart.read("lastWords", text) };
  }
  // Without a sandbox, the tree's path is different in each run.
  const relative = text.replaceAll(`${sandbox.inside.tree}/`, "");
  return { text: relative, isClean: ending.kind === "exited" && ending.code === 0 };
}

/** Why an ending says nothing about the commit. Null if it does. */
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
