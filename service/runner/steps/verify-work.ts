import { SHOWN_CHARS } from "../../../src/core/ports/reading.ts";
import { MAX_FINDINGS } from "../../../src/core/ports/job-report.ts";
import type { ReportedCheck } from "../../../src/core/ports/job-service.ts";
import { oneLine, sentenceCase } from "../../base/printable-text.ts";
import type { TurnWork } from "../publish/turn-note.ts";
import type { RunContext, RunnerTurn } from "../turn.ts";
import { newFindings, type ToolOutput } from "../verify/findings.ts";
import { outputKey } from "../verify/kept-outputs.ts";
import type { CheckSettings, Obstacle } from "../verify/mount-points.ts";
import { runCheck } from "./run-check.ts";

/** What the agent is told at most, in UTF-8. */
const MAX_BLOCKING_BYTES = 4096;

/** `blocking`: the new findings of checks that block, for the agent: bounded, redacted. */
export type Verified = Pick<TurnWork, "checks" | "hasBlockingFindings"> & { blocking: string };

/** The commit that would be pushed, and the one that it is compared with. */
export type Compared = { base: string; commit: string };

/**
 * Runs the project's checks on both commits, one after the other. What is only in the result
 * counts. Rejects only when aborted.
 */
export async function verifyWork(
  turn: RunnerTurn,
  context: RunContext,
  { base, commit }: Compared,
): Promise<Verified> {
  const verified: Verified = { checks: [], hasBlockingFindings: false, blocking: "" };
  for (const [index, check] of turn.project.verify.entries()) {
    context.onProgress(`checking: ${check.name}`);
    const place = `${turn.jobId}.check${index}`;
    const before = await outputOfBase(check, base, `${place}-base`, turn, context);
    const result = { check, commit, place: `${place}-result` };
    const after = "why" in before ? before : await runCheck(result, turn, context);
    const { reported, lines } = compared(check, before, after, context);
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
  const key = `${await outputKey(commit, check, context.env["PATH"] ?? "")} ${JSON.stringify(limits)}`;
  const kept = context.outputs.get(key);
  if (kept !== null) return kept;
  const output = await runCheck({ check, commit, place }, turn, context);
  if ("why" in output) return { ...output, why: `before the change, ${output.why}` };
  context.outputs.keep(key, output);
  return output;
}

function compared(
  { name }: CheckSettings,
  before: ToolOutput | Obstacle,
  after: ToolOutput | Obstacle,
  { redact, logger }: RunContext,
): { reported: ReportedCheck; lines: string[] } {
  // Redacted before it is cut: half a secret is one too.
  const shown = (text: string) => oneLine(redact(text), SHOWN_CHARS.line);
  const told = (result: ReportedCheck["result"], lines: string[]) => {
    const rest = lines.length - MAX_FINDINGS + 1;
    const findings = rest > 1 ? [...lines.slice(0, MAX_FINDINGS - 1), `… and ${rest} more`] : lines;
    return { reported: { name, result, findings }, lines };
  };
  const obstacle = "why" in before ? before : after;
  if ("why" in before || "why" in after) {
    logger.warn({ check: name, ...obstacle }, "a check couldn't run");
    return told("not-checked", "why" in obstacle ? [shown(sentenceCase(obstacle.why))] : []);
  }
  const lines = newFindings(before, after).map(shown);
  if (lines.length > 0) return told("failed", lines);
  if (after.isClean) return told("passed", []);
  if (before.isClean) return told("failed", ["It failed and didn't say why."]);
  return after.text.trim() === ""
    ? told("not-checked", ["It fails and doesn't say why, before the change, too."])
    : told("passed", []);
}

function startOfBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // Without the character that the cut goes through.
  return `${new TextDecoder().decode(bytes.subarray(0, maxBytes - 3), { stream: true })}…`;
}
