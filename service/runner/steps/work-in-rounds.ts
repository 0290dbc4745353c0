import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ReportedUsage } from "../../../src/core/ports/job-service.ts";
import { removeFolder } from "../folders.ts";
import type { CheckedClaim } from "../publish/sources-text.ts";
import { type AgentRunResult, type SecondRound, runAgent } from "../run-agent.ts";
import { operatorText } from "../run-error.ts";
import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";
import { type Verified, verifyWork } from "./verify-work.ts";
import { checkClaims } from "./check-claims.ts";
import { type CheckedWork, checkWork } from "./check.ts";
import type { TurnTree } from "./open-tree.ts";
import type { TurnStart } from "./report.ts";

/** What one run of the agent came to. */
type Round = CheckedWork & { ran: AgentRunResult; claims: CheckedClaim[] | null };

/** What the agent of a turn came to, in one round or two. */
export type Worked = Round & Omit<Verified, "blocking">;

/**
 * Runs the turn's agent, and the project's checks on what it did. What blocks goes back to the
 * agent, once. Rejects as `runAgent` and `checkWork` do; but what the first round did isn't lost to
 * a second one that fails.
 */
export async function workInRounds(
  tree: TurnTree,
  turn: RunnerTurn,
  context: RunContext,
  { base, contexts }: Pick<TurnStart, "base"> & { contexts: readonly OpenContext[] },
): Promise<Worked> {
  const meter = createMeter(turn, context);
  context.onProgress("the agent is working");
  const first = await round(tree, turn, meter.context, contexts, null);
  const { commit } = first;
  if (commit === null) return { ...first, checks: [], hasBlockingFindings: false };
  const { blocking, ...verified } = await verifyWork(turn, context, { base, commit });
  const worked = { ...first, ...verified };
  const rest = meter.rest();
  if (!verified.hasBlockingFindings || rest === null) return worked;

  context.onProgress("the agent is working on what the checks found");
  try {
    const second = await workAgain(tree, rest, contexts, first, blocking);
    if (second.commit === null) return { ...worked, ran: withoutSession(first.ran) };
    const again = await verifyWork(turn, context, { base, commit: second.commit });
    const { checks, hasBlockingFindings } = again satisfies Verified;
    return { ...second, checks, hasBlockingFindings };
  } catch (error) {
    context.signal.throwIfAborted();
    context.onAgent(false);
    context.logger.warn({ problem: context.redact(operatorText(error)) }, "the second round failed");
    return { ...worked, ran: withoutSession(first.ran) };
  }
}

/** Runs the agent and looks through what it left. */
async function round(
  tree: TurnTree,
  turn: RunnerTurn,
  context: RunContext,
  contexts: readonly OpenContext[],
  again: (SecondRound & { first: Round }) | null,
): Promise<Round> {
  context.onAgent(true);
  const ran = await runAgent(tree.folders, turn, context, contexts, again);
  const summary = ran.summary ?? again?.first.ran.summary ?? null;
  const checked = await checkWork(tree, { summary }, turn, context);
  // Only now: what an agent leaves may be what the runner dies of.
  context.onAgent(false);
  const claims = checked.commit === null ? null : await checkClaims(tree, contexts, turn, context);
  return { ...checked, ran: { ...ran, summary }, claims: claims ?? again?.first.claims ?? null };
}

async function workAgain(
  { folders, ...tree }: TurnTree,
  { turn, context }: Rest,
  contexts: readonly OpenContext[],
  first: Round,
  findings: string,
): Promise<Round> {
  await removeFolder(folders.tmp);
  await mkdir(folders.tmp, { mode: 0o700 });
  const scratch = join(folders.scratch, "second");
  await mkdir(scratch, { mode: 0o700 });
  const again = { findings, session: first.ran.session, first };
  const second = await round({ ...tree, folders: { ...folders, scratch } }, turn, context, contexts, again);
  const refused = [...new Set([...first.ran.refused, ...second.ran.refused])];
  return { ...second, ran: { ...second.ran, refused } };
}

/** A session that knows of a round whose work isn't there would mislead the job's next turn. */
function withoutSession(ran: AgentRunResult): AgentRunResult {
  return { ...ran, keepSession: async () => {} };
}

/** What a second round has: the turn's own limits, less what the first one used. */
type Rest = { turn: RunnerTurn; context: RunContext };

/** Measures the first round, but for the time that people take to answer. */
function createMeter(turn: RunnerTurn, context: RunContext): { context: RunContext; rest(): Rest | null } {
  const { clock, ask, onAgent, onUsage } = context;
  let used: ReportedUsage | null = null;
  let sinceMs = 0;
  let spentMs = 0;
  const measured: RunContext = {
    ...context,
    onAgent: (runs) => {
      if (runs) sinceMs = clock.monotonicMs();
      else spentMs += clock.monotonicMs() - sinceMs;
      onAgent(runs);
    },
    onUsage: (usage) => {
      // An agent's own word for its cost doesn't replace what was counted.
      if (used === null || used.calls === null || usage.calls !== null) used = usage;
      onUsage(usage);
    },
    ask: async (question) => {
      const askedAtMs = clock.monotonicMs();
      const answer = await ask(question);
      spentMs -= clock.monotonicMs() - askedAtMs;
      return answer;
    },
  };
  const rest = () => {
    const { agent } = turn.project;
    const timeLimitMs = Math.round(agent.timeLimitMs - Math.max(0, spentMs));
    if (timeLimitMs <= 0) return null;
    const before = used;
    return {
      turn: {
        ...turn,
        usedBefore: before === null ? turn.usedBefore : sumOf(turn.usedBefore, before),
        project: { ...turn.project, agent: { ...agent, timeLimitMs } },
      },
      context: { ...context, onUsage: (usage: ReportedUsage) => onUsage(sumOf(before, usage)) },
    };
  };
  return { context: measured, rest };
}

/** What two rounds used together. */
function sumOf(first: ReportedUsage | null, second: ReportedUsage): ReportedUsage {
  if (first === null || (first.calls !== null && second.calls === null)) return second;
  const sum = (one: number | null, other: number | null) =>
    one === null || other === null ? (one ?? other) : one + other;
  const isUnpriced = first.calls !== null && (first.costUsd === null || second.costUsd === null);
  return {
    inputTokens: sum(first.inputTokens, second.inputTokens),
    outputTokens: sum(first.outputTokens, second.outputTokens),
    cachedInputTokens: sum(first.cachedInputTokens, second.cachedInputTokens),
    calls: sum(first.calls, second.calls),
    costUsd: isUnpriced ? null : sum(first.costUsd, second.costUsd),
  };
}
