import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../../shared/errors.ts";
import { cut } from "../../../../shared/text/text.ts";
import { presetEnv, presetOf } from "../../../config/agent-presets.ts";
import { newSocketPath } from "../../../network/limits.ts";
import type { ModelTrouble } from "../../../network/gateway/model-trouble.ts";
import { usedBeforeOf } from "../../../network/gateway/turn-models.ts";
import { openTurnNetwork, type TurnNetwork } from "../../../network/egress/turn-network.ts";
import { runAcpAgent } from "../../agents/acp-agent.ts";
import type { AgentResult, AgentRun, RunAgent } from "../../agents/agent.ts";
import { briefOf } from "../../agents/brief.ts";
import { placeAttachments } from "../../agents/attachments.ts";
import { runCommandAgent } from "../../agents/command-agent.ts";
import type { SeenAt } from "../claims/source-place.ts";
import { CLAIMS_FILE, DOCS_NAME } from "../../claims-file.ts";
import { forgetAgent, noteAgent, type TurnFolders } from "../../workspace/folders.ts";
import type { AgentSession } from "../../workspace/kept-sessions.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import { watchDisk } from "../../workspace/sandbox/disk-watch.ts";
import { plainEnv, type TurnSandbox } from "../../workspace/sandbox/sandbox.ts";
import type { ServiceProject } from "../../../config/config.ts";
import type { OpenContext, TurnContext, RunnerTurn } from "../../turn-context.ts";

/** The function that runs each kind of agent. */
const agents: Record<ServiceProject["agent"]["kind"], RunAgent> = {
  acp: runAcpAgent,
  command: runCommandAgent,
};
/** Where a sandbox shows the context repositories. */
const CONTEXT_INSIDE = "/context";
const MAX_BRIEF_CHARS = 200_000;

/**
 * How an agent ended. `modelTrouble` is why its last model call failed, or null if it didn't. Call
 * `keepSession` once its work is safe, so that the job's next turn can resume its session. Never
 * rejects.
 */
export type AgentRunResult = AgentResult & {
  /** Where it saw the repositories. */
  seenAt: SeenAt;
  modelTrouble: ModelTrouble | null;
  keepSession: () => Promise<void>;
};

/** What an agent is told in a second round, and the session of its first one. */
export type SecondRound = Pick<AgentRun, "findings"> & { session: AgentSession | null };

/**
 * Runs the turn's agent in its sandbox, with its network, and in the session of the job's earlier
 * turns if that was kept. Rejects with a `TurnFailedError` if it failed, or used more than it may.
 */
export async function runAgent(
  folders: TurnFolders,
  turn: RunnerTurn,
  context: TurnContext,
  contexts: readonly OpenContext[],
  again: SecondRound | null,
): Promise<AgentRunResult> {
  const { project, jobId } = turn;
  const { report, redact, signal } = context;
  const { limits } = project.agent;
  await using network = await openNetwork(turn, context);
  await using sandbox = await openSandbox(folders, turn, context, contexts, network);
  const contextFolder = await contextFolderOf(contexts, folders, context);
  const session = sessionOf(turn, context, { identity: identityOf(project, sandbox), home: folders.home });
  // Taken before the agent starts. If the turn fails and its work is lost, no session is left that
  // knows of it.
  const kept = again === null ? await session.take() : again.session;
  const attachments = await placeAttachments(turn.attachments, folders.tmp, sandbox.inside.tmp);
  using disk = watchDisk(folders.job, limits.diskMegabytes, { clock: context.clock });
  const bounded = AbortSignal.any([signal, disk.signal, exceededSignal(network)]);
  try {
    const result = await agents[project.agent.kind]({
      ...context,
      ...turn,
      settings: project.agent,
      brief: briefOf(project, contexts, { ...sandbox.inside, contextFolder: contextFolder ?? "" }),
      contextFolder,
      attachments,
      kept,
      findings: again?.findings ?? "",
      sandbox,
      env: envOf(project, context, { sandbox, network, contextFolder }),
      signal: bounded,
      onBrief: (brief) => report({ brief: cut(redact(brief), MAX_BRIEF_CHARS) }),
      onStarted: (pid) => noteAgent(context.folders, jobId, pid),
    });
    const seenAt = new Map([
      [DOCS_NAME, [sandbox.inside.tree, folders.tree]],
      ...contexts.map(({ name, folder }) => [name, [join(contextFolder ?? "", name), folder]] as const),
    ]);
    const keepSession = () => session.keep(result.session);
    return { ...result, seenAt, modelTrouble: network.modelTrouble(), keepSession };
  } catch (error) {
    if (!(error instanceof TurnFailedError) || bounded.aborted) throw error;
    throw await explained(error, sandbox, network, limits);
  } finally {
    await forgetAgent(context.folders, jobId);
  }
}

function openNetwork({ usedBefore }: RunnerTurn, context: TurnContext): Promise<TurnNetwork> {
  const { report, logger, sandbox, folders } = context;
  return openTurnNetwork({
    ...context.network,
    usedBefore: usedBeforeOf(usedBefore),
    onUsage: (usage) => report({ usage }),
    onTrouble: ({ step }) => report({ step }),
    onLeftOut: context.onLeftOut,
    socketPath: sandbox.kind === "none" ? null : newSocketPath(folders.sockets),
    logger,
  });
}

function openSandbox(
  folders: TurnFolders,
  { project: { agent } }: RunnerTurn,
  { sandbox }: TurnContext,
  contexts: readonly OpenContext[],
  network: TurnNetwork,
): Promise<TurnSandbox> {
  const { command, readable, limits } = agent;
  return sandbox.open({
    folders,
    command: command[0] ?? "",
    readable,
    limits,
    networkSocket: network.socketPath,
    shown: contexts.map(({ name, folder }) => ({ from: folder, at: join(CONTEXT_INSIDE, name) })),
  });
}

/** The session of the job's agent between turns. What can't be brought back or kept is left. */
function sessionOf(
  { jobId, number }: RunnerTurn,
  { sessions, logger }: TurnContext,
  { identity, home }: { identity: string; home: string },
) {
  const orWarn = (what: string) => (error: unknown) => {
    logger.warn({ problem: messageOf(error) }, what);
    return null;
  };
  return {
    take: () =>
      sessions
        .take(jobId, identity, number - 1, home)
        .catch(orWarn("the agent's session could not be brought back")),
    async keep(session: AgentSession | null): Promise<void> {
      if (session === null) return;
      const isKept = await sessions
        .keep(jobId, identity, session, home)
        .catch(orWarn("the agent's session could not be kept"));
      if (isKept === false) logger.info({}, "the agent's session is too large to keep");
    },
  };
}

/** The agent's variables. Those that the settings pass on to it count most. */
function envOf(
  { agent }: ServiceProject,
  { env, agentEnv }: TurnContext,
  given: { sandbox: TurnSandbox; network: TurnNetwork; contextFolder: string | null },
): Record<string, string> {
  const { sandbox, network, contextFolder } = given;
  const preset = presetOf(agent);
  const port = sandbox.networkPort ?? network.port ?? 0;
  return {
    ...plainEnv(env, sandbox.inside),
    DOCS_AGENT_CLAIMS: join(sandbox.inside.tmp, CLAIMS_FILE),
    ...(contextFolder !== null && { DOCS_AGENT_CONTEXT: contextFolder }),
    ...network.env(port),
    ...(preset === null ? {} : presetEnv(preset, network.models(port))),
    ...agentEnv,
  };
}

/** The agent's failure with what it was due to, if the sandbox or the network knows that. */
async function explained(
  error: TurnFailedError,
  sandbox: TurnSandbox,
  network: TurnNetwork,
  { memoryMegabytes }: { memoryMegabytes: number },
): Promise<TurnFailedError> {
  if (await sandbox.ranOutOfMemory()) {
    const limit = `The agent needed more than its limit of ${memoryMegabytes} MB of memory.`;
    return new TurnFailedError(`${limit} ${error.message}`, { details: error.details });
  }
  const trouble = network.modelTrouble();
  if (trouble === null) return error;
  const details = [trouble.advice, error.message, ...error.details];
  return new TurnFailedError(trouble.reason, { details });
}

/**
 * The folder with the context repositories by their names, as the agent sees it. Null if there are
 * none.
 */
async function contextFolderOf(
  contexts: readonly OpenContext[],
  { job }: TurnFolders,
  { sandbox }: TurnContext,
): Promise<string | null> {
  if (contexts.length === 0) return null;
  if (sandbox.kind !== "none") return CONTEXT_INSIDE;
  const folder = join(job, "context");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  for (const { name, folder: files } of contexts) await symlink(files, join(folder, name));
  return folder;
}

/**
 * An agent with other settings, another place or other models doesn't resume a session, because it
 * may not find what it needs there.
 */
function identityOf({ agent, models }: ServiceProject, { inside }: TurnSandbox): string {
  const kinds = models.map(({ name, kind }) => [name, kind]);
  return JSON.stringify([agent.kind, agent.command, presetOf(agent), kinds, inside.home]);
}

function exceededSignal(network: TurnNetwork): AbortSignal {
  const controller = new AbortController();
  void network.exceeded.then((reason) => {
    const failureCause = network.isBudgetSpent() ? "budget" : null;
    controller.abort(new TurnFailedError(reason, { failureCause }));
  });
  return controller.signal;
}
