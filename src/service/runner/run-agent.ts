import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { presetEnv } from "../agent-presets.ts";
import type { Env } from "../env.ts";
import type { RunTurnInput } from "../turn-runner.ts";
import { newSocketPath, openTurnNetwork, type TurnNetwork, type TurnUsage } from "../network/index.ts";
import { agentEnv } from "./agents/agent-env.ts";
import { agents } from "./agents/index.ts";
import type { AgentResult } from "./agents/agent.ts";
import { forgetAgent, noteAgent, type RunnerFolders, type TurnFolders } from "./folders.ts";
import type { Redact } from "./redaction.ts";
import { TurnFailedError } from "./run-error.ts";
import type { RunnerTurn } from "./runner-turn.ts";
import { watchDisk } from "./sandbox/disk-watch.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";

/** What running an agent stands on. */
export type AgentContext = {
  folders: RunnerFolders;
  sandbox: Sandbox;
  env: Env;
  clock: Clock;
  logger: Logger;
  redact: Redact;
  /** Takes lines of the agent's that are bounded and clean. */
  onAgentLine: (line: string) => void;
} & Pick<RunTurnInput, "signal" | "onStep" | "onPlan" | "onUsage" | "ask">;

/**
 * Runs the turn's agent in its sandbox, with its way out. Resolves to its own summary, if it gave one. Rejects with a `TurnFailedError` when it failed, or used more
 * than it may.
 */
export async function runAgent(
  folders: TurnFolders,
  turn: RunnerTurn,
  context: AgentContext,
): Promise<AgentResult> {
  const { project, jobId } = turn;
  const { clock, logger, signal, onAgentLine, onStep, onPlan, onUsage, ask, redact } = context;
  const { command, readable, limits, preset } = project.agent;
  const { inputTokens, outputTokens, costUsd } = turn.usedBefore ?? {};
  const network = await openTurnNetwork({
    ...project.network,
    usedBefore: { tokens: (inputTokens ?? 0) + (outputTokens ?? 0), usd: costUsd ?? 0 },
    onUsage: (usage) => tellUsage(usage, onUsage),
    onTrouble: () => onStep("Waiting for the model"),
    socketPath: context.sandbox.kind === "none" ? null : newSocketPath(context.folders.sockets),
    logger,
  });
  await using _usage = { [Symbol.asyncDispose]: () => endNetwork(network, onUsage) };
  await using sandbox = await context.sandbox.open({
    folders,
    command: command[0] ?? "",
    readable,
    limits,
    networkSocket: network.socketPath,
  });
  using disk = watchDisk(folders.job, limits.diskMegabytes, clock);
  const bounded = AbortSignal.any([signal, disk.signal, exceededSignal(network)]);
  const port = sandbox.networkPort ?? network.port ?? 0;
  try {
    return await agents[project.agent.kind]({
      settings: project.agent,
      prompt: turn.prompt,
      earlierTurns: turn.earlierTurns,
      docs: project.docs,
      sandbox,
      env: {
        ...agentEnv(context.env, sandbox.inside),
        ...network.env(port),
        ...(preset === null ? {} : presetEnv(preset, network.models(port))),
        ...project.agentEnv,
      },
      clock,
      signal: bounded,
      onProgress: onAgentLine,
      onRefused: (what) => logger.warn({ what }, "agent was refused a permission"),
      onStep,
      onPlan,
      onUsage,
      ask,
      redact,
      onStarted: (pid) => noteAgent(context.folders, jobId, pid),
    });
  } catch (error) {
    if (!(error instanceof TurnFailedError) || bounded.aborted) throw error;
    if (await sandbox.ranOutOfMemory()) {
      const limit = `The agent needed more than its limit of ${limits.memoryMegabytes} MB of memory.`;
      throw new TurnFailedError(`${limit} ${error.message}`, { details: error.details });
    }
    const trouble = network.modelTrouble();
    if (trouble === null) throw error;
    const details = [trouble.advice, error.message, ...error.details];
    throw new TurnFailedError(trouble.reason, { details });
  } finally {
    await forgetAgent(context.folders, jobId);
  }
}

/** What was cut off counts by then, too. */
async function endNetwork(network: TurnNetwork, onUsage: RunTurnInput["onUsage"]): Promise<void> {
  await network[Symbol.asyncDispose]();
  const usage = network.usage();
  if (usage.calls > 0) tellUsage(usage, onUsage);
}

function tellUsage(usage: TurnUsage, onUsage: RunTurnInput["onUsage"]): void {
  const { calls, inputTokens, outputTokens, cachedInputTokens, costUsd } = usage;
  onUsage({ calls, inputTokens, outputTokens, cachedInputTokens, costUsd });
}

function exceededSignal(network: TurnNetwork): AbortSignal {
  const controller = new AbortController();
  void network.exceeded.then((reason) => controller.abort(new TurnFailedError(reason)));
  return controller.signal;
}
