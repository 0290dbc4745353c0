import { MAX_FINDINGS, type ProjectCheck } from "../../../../shared/contract/checks.ts";
import { SHOWN_CHARS } from "../../../../shared/contract/reading.ts";
import { sentenceCase, redactedLine } from "../../../base/printable-text.ts";
import { faultText } from "../../../base/run-error.ts";
import { type CommandCheck, runsCommand } from "../../../config/check-settings.ts";
import { HYGIENE } from "../../../config/hygiene-rules.ts";
import { howItShows } from "../../../config/check-presets.ts";
import { type ChangedPath, changedPages, patchOfPages } from "../../workspace/git/changed-pages.ts";
import type { TurnWork } from "../../publish/turn-note.ts";
import type { TurnContext, RunnerTurn } from "../../turn-context.ts";
import { checkOfPages } from "../checks/check-pages.ts";
import { switchesOf } from "../checks/inline-switches.ts";
import type { Judged } from "../checks/judge-runs.ts";
import { type Obstacle, outputKey } from "../checks/kept-outputs.ts";
import type { ToolOutput } from "../checks/output-lines.ts";
import { checkHygiene } from "./check-hygiene.ts";
import { runCheck } from "./run-check.ts";

/** The most bytes of findings that the agent is told, in UTF-8. */
const MAX_BLOCKING_BYTES = 4096;

/** `blocking` are the new findings of blocking checks, for the agent. Bounded and redacted. */
export type ChecksResult = Pick<TurnWork, "checks" | "hasBlockingFindings"> & { blocking: string };

/** The change that is checked. */
type Change = { base: string; commit: string; changed: readonly ChangedPath[] };

/**
 * Runs the project's checks on both commits, one after the other: the one that would be pushed, and
 * its base. Only findings that are new in `commit` count. Rejects if aborted, and with a `GitError`
 * if the two can't be compared. `earlier` are the checks of the turn's first round.
 */
export async function runChecks(
  turn: RunnerTurn,
  context: TurnContext,
  { base, commit, earlier = [] }: { base: string; commit: string; earlier?: readonly ProjectCheck[] },
): Promise<ChecksResult> {
  const all: ChecksResult = { checks: [], hasBlockingFindings: false, blocking: "" };
  const changed = await context.mirror.use((git) => changedPages(git, base, commit));
  // A follow-up took everything back, so there is nothing to check.
  if (changed.length === 0) return all;
  const change = { base, commit, changed };
  const add = (check: { name: string; blocking: boolean }, judged: Told) => {
    all.checks.push(reported(check, judged));
    if (!check.blocking || judged.result !== "failed") return;
    all.hasBlockingFindings = true;
    all.blocking += `${check.name}:\n${judged.lines.map((line) => `- ${line}\n`).join("")}`;
  };
  const hygiene = await checkHygiene(turn, context, change);
  // That nothing is wrong goes without saying. That something was, and was mended, doesn't.
  const isTold = hygiene?.result !== "passed" || earlier.some(({ name }) => name === HYGIENE);
  if (hygiene !== null && isTold) add({ name: HYGIENE, blocking: true }, hygiene);
  for (const [index, check] of turn.project.verify.filter(runsCommand).entries()) {
    context.onProgress(`checking: ${check.name}`);
    add(check, await judge(check, `${turn.jobId}.check${index}`, change, turn, context));
  }
  return { ...all, blocking: startOfBytes(all.blocking, MAX_BLOCKING_BYTES) };
}

type Told = Pick<Judged, "result" | "lines" | "count">;

async function judge(
  check: CommandCheck,
  place: string,
  change: Change,
  turn: RunnerTurn,
  context: TurnContext,
): Promise<Told> {
  const { redact, logger } = context;
  const found = await compareRuns(check, place, change, turn, context);
  if ("why" in found) {
    logger.warn({ check: check.name, ...found }, "a check couldn't run");
    // Redacted before it is cut, because half a secret is a secret, too.
    const why = redactedLine(redact, sentenceCase(found.why), SHOWN_CHARS.line);
    return { result: "not-checked", lines: [why], count: 1 };
  }
  if (found.result === "not-checked") {
    const [why] = found.lines;
    logger.warn({ check: check.name, why, details: found.details }, "a check says nothing");
    return found;
  }
  const switches = await addedSwitchesIn(check, change, context);
  if (switches.length === 0) return found;
  const others = found.result === "failed" ? found : { lines: [], count: 0 };
  return {
    result: "failed",
    lines: [...switches, ...others.lines],
    count: switches.length + others.count,
  };
}

/** Runs a check on both sides, and on the base again if that may explain what is new. */
async function compareRuns(
  check: CommandCheck,
  place: string,
  { base, commit, changed }: Change,
  turn: RunnerTurn,
  context: TurnContext,
): Promise<Judged | Obstacle> {
  const { limits } = turn.project.agent;
  const [before, after] = [pathsOf(changed, "before"), pathsOf(changed, "after")];
  const paths = [...new Set([...before, ...after])];
  const onBase = checkOfPages(check, paths, (path) => before.has(path));
  const onResult = checkOfPages(check, paths, (path) => after.has(path));
  if (onBase === null && onResult === null) return { why: "it reads none of the changed files." };

  const kept = await keptOutputs(onBase, base, turn, context);
  const runBase = async (): Promise<ToolOutput | Obstacle> => {
    if (onBase === null) return NOTHING_TO_READ;
    const run = { check: onBase, commit: base, place: `${place}-base`, limits };
    const output = await runCheck(run, context);
    return "why" in output ? { ...output, why: `before the change, ${output.why}` } : output;
  };
  const runs: ToolOutput[] = [...kept.outputs];
  const more = async (): Promise<Obstacle | null> => {
    const output = await runBase();
    if ("why" in output) return output;
    runs.push(output);
    kept.keep(runs);
    return null;
  };
  const obstacle = runs.length === 0 ? await more() : null;
  if (obstacle !== null) return obstacle;
  const result =
    onResult === null
      ? NOTHING_TO_READ
      : await runCheck({ check: onResult, commit, place: `${place}-result`, limits }, context);
  if ("why" in result) return { ...result, why: `with the change, ${result.why}` };

  const how = howItShows(check);
  const moved = changed.flatMap(({ before: from, after: to }): [string, string][] =>
    from === null || to === null || from === to ? [] : [[from, to]],
  );
  for (;;) {
    const judged = await context.apart.read("judgeRuns", { base: runs, result, how, paths, moved });
    if (!judged.wantsAnotherRun) return judged;
    const inTheWay = await more();
    if (inTheWay !== null) return inTheWay;
  }
}

/** The output of a tool that would be given no page. */
const NOTHING_TO_READ: ToolOutput = { text: "", code: 0 };

function pathsOf(changed: readonly ChangedPath[], side: "before" | "after"): Set<string> {
  return new Set(changed.flatMap((each) => each[side] ?? []));
}

/** What a check said about a commit earlier, and how to keep what it says now. */
async function keptOutputs(
  check: CommandCheck | null,
  commit: string,
  turn: RunnerTurn,
  { env, clock, outputs }: TurnContext,
) {
  if (check === null) return { outputs: [], keep: () => {} };
  const now = { searchPath: env["PATH"] ?? "", nowMs: clock.now() };
  const key = `${await outputKey(commit, check, now)} ${JSON.stringify(turn.project.agent.limits)}`;
  return {
    outputs: outputs.get(key),
    keep: (all: readonly ToolOutput[]) => outputs.keep(key, [...all]),
  };
}

/** The lines of the change that would hide something from this check. */
async function addedSwitchesIn(
  check: CommandCheck,
  { base, commit }: Change,
  { mirror, apart, logger, signal }: TurnContext,
): Promise<string[]> {
  const switches = switchesOf(check);
  if (switches.length === 0) return [];
  try {
    const patch = await mirror.use((git) => patchOfPages(git, base, commit));
    return await apart.read("addedSwitches", { patch, switches });
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ check: check.name, problem: faultText(error) }, "the change can't be searched");
    return [];
  }
}

function reported({ name }: { name: string }, { result, lines, count }: Told): ProjectCheck {
  const rest = count - MAX_FINDINGS + 1;
  const findings = rest > 1 ? [...lines.slice(0, MAX_FINDINGS - 1), `… and ${rest} more`] : lines;
  return { name, result, findings };
}

function startOfBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // Drops the character that the cut splits.
  return `${new TextDecoder().decode(bytes.subarray(0, maxBytes - 3), { stream: true })}…`;
}
