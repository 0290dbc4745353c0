import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { presetEnv } from "../agent-presets.ts";
import { messageOf } from "../../errors.ts";
import type { Env } from "../env.ts";
import type { RunTurnInput } from "../turn-runner.ts";
import { newSocketPath } from "../network/limits.ts";
import type { LeftOut } from "../network/model-gateway.ts";
import type { ModelTrouble } from "../network/model-trouble.ts";
import { openTurnNetwork, type TurnNetwork, type TurnUsage } from "../network/turn-network.ts";
import { agentEnv } from "./agents/agent-env.ts";
import { agents } from "./agents/index.ts";
import type { AgentResult } from "./agents/agent.ts";
import { forgetAgent, noteAgent, type RunnerFolders, type TurnFolders } from "./folders.ts";
import type { AgentSession, KeptSessions } from "./kept-sessions.ts";
import { startProcessGroup } from "./process-group.ts";
import type { Redact } from "./redaction.ts";
import { TurnFailedError } from "./run-error.ts";
import { placeAttachments } from "./place-attachments.ts";
import type { RunnerProject, RunnerTurn } from "./runner-turn.ts";
import { watchDisk } from "./sandbox/disk-watch.ts";
import type { Sandbox, TurnSandbox } from "./sandbox/sandbox.ts";

/** What running an agent stands on. */
export type AgentContext = {
  folders: RunnerFolders;
  sandbox: Sandbox;
  sessions: KeptSessions;
  env: Env;
  clock: Clock;
  logger: Logger;
  redact: Redact;
  /** Takes lines of the agent's that are bounded and clean. */
  onAgentLine: (line: string) => void;
  /** Told what was left out of calls of models, each time. */
  onLeftOut: (what: LeftOut) => void;
} & Pick<RunTurnInput, "signal" | "onStep" | "onPlan" | "onUsage" | "ask">;

/**
 * How an agent ended. `modelTrouble`: why its last call of a model came to nothing; null if it did not. `keepSession`: to be called once its work is
 * safe, so that the job's next turn can resume its session. Never rejects.
 */
export type AgentRunResult = Omit<AgentResult, "session"> & {
  modelTrouble: ModelTrouble | null;
  keepSession: () => Promise<void>;
};

/**
 * Runs the turn's agent in its sandbox, with its way out, and in the session of the job's earlier turns where that was kept. Rejects with a
 * `TurnFailedError` when it failed, or used more than it may.
 */
export async function runAgent(
  folders: TurnFolders,
  turn: RunnerTurn,
  context: AgentContext,
): Promise<AgentRunResult> {
  const { project, jobId } = turn;
  const { clock, logger, signal, onAgentLine, onStep, onPlan, onUsage, ask, redact } = context;
  const { command, readable, limits, preset } = project.agent;
  const { inputTokens, outputTokens, costUsd } = turn.usedBefore ?? {};
  await using network = await openTurnNetwork({
    ...project.network,
    usedBefore: { tokens: (inputTokens ?? 0) + (outputTokens ?? 0), usd: costUsd ?? 0 },
    onUsage: (usage) => tellUsage(usage, onUsage),
    onTrouble: ({ step }) => onStep(step),
    onLeftOut: context.onLeftOut,
    socketPath: context.sandbox.kind === "none" ? null : newSocketPath(context.folders.sockets),
    logger,
  });
  await using sandbox = await context.sandbox.open({
    folders,
    command: command[0] ?? "",
    readable,
    limits,
    networkSocket: network.socketPath,
  });
  const sessions = sessionsOf(folders, turn, context, sandbox);
  const kept = await sessions.take();
  const attachments = await placeAttachments(turn.attachments, folders.tmp, sandbox.inside.tmp);
  using disk = watchDisk(folders.job, limits.diskMegabytes, { clock });
  const bounded = AbortSignal.any([signal, disk.signal, exceededSignal(network)]);
  const port = sandbox.networkPort ?? network.port ?? 0;
  try {
    const { session, ...result } = await agents[project.agent.kind]({
      settings: project.agent,
      number: turn.number,
      prompt: turn.prompt,
      attachments,
      earlierTurns: turn.earlierTurns,
      kept,
      docs: project.docs,
      sandbox,
      start: startProcessGroup,
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
    return {
      ...result,
      modelTrouble: network.modelTrouble(),
      keepSession: async () => void (session && (await sessions.keep(session))),
    };
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

/** The job's session: taken before its agent starts, so that a turn that fails, and whose work is gone, leaves none. */
function sessionsOf(folders: TurnFolders, turn: RunnerTurn, context: AgentContext, sandbox: TurnSandbox) {
  const { jobId, number } = turn;
  const { sessions, logger } = context;
  const agent = identityOf(turn.project, sandbox);
  return {
    take: (): Promise<AgentSession | null> =>
      sessions.take(jobId, agent, number - 1, folders.home).catch((error: unknown) => {
        logger.warn({ problem: messageOf(error) }, "the agent's session could not be brought back");
        return null;
      }),
    async keep(session: AgentSession): Promise<void> {
      try {
        const isKept = await sessions.keep(jobId, agent, session, folders.home);
        if (!isKept) logger.info({}, "the agent's session is too large to keep");
      } catch (error) {
        logger.warn({ problem: messageOf(error) }, "the agent's session could not be kept");
      }
    },
  };
}

/** An agent that was started otherwise, somewhere else or with other models resumes nothing: it may not find there what it needs. */
function identityOf({ agent, network }: RunnerProject, { inside }: TurnSandbox): string {
  const models = network.models.map(({ name, kind }) => [name, kind]);
  return JSON.stringify([agent.kind, agent.command, agent.preset, models, inside.home]);
}

function tellUsage(usage: TurnUsage, onUsage: RunTurnInput["onUsage"]): void {
  const { calls, inputTokens, outputTokens, cachedInputTokens, costUsd } = usage;
  onUsage({ calls, inputTokens, outputTokens, cachedInputTokens, costUsd });
}

function exceededSignal(network: TurnNetwork): AbortSignal {
  const controller = new AbortController();
  void network.exceeded.then((reason) => {
    const failureCause = network.isBudgetSpent() ? "budget" : null;
    controller.abort(new TurnFailedError(reason, { failureCause }));
  });
  return controller.signal;
}
