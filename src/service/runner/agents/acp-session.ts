import {
  type ClientContext,
  type InitializeResponse,
  methods,
  type NewSessionRequest,
  type PromptCapabilities,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { attachmentsFolder } from "../place-attachments.ts";
import { TurnFailedError } from "../run-error.ts";
import type { AgentRun } from "./agent.ts";

/** A session that waits for a prompt. */
export type OpenSession = {
  id: string;
  /** How many turns of the job it knows already: the first ones. */
  knownTurns: number;
  /** Whether the agent offers to take it up again later. */
  isResumable: boolean;
  /** What may be in a prompt besides texts and links. */
  takes: PromptCapabilities;
};

/** How long an agent may take until it has a session: some load models or download themselves first. */
const HANDSHAKE_LIMIT_MS = 120_000;
/** How long an agent may take to resume one. Then it still has time for a new one. */
const RESUME_LIMIT_MS = 60_000;

/** Opens a session: the one that was kept, if the agent takes it up again, else a new one. Tells the operator which. */
export async function openSession(
  agent: ClientContext,
  run: AgentRun,
  tell: (line: string) => void,
): Promise<OpenSession> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stop = run.clock.wakeAt(run.clock.now() + HANDSHAKE_LIMIT_MS, () =>
    reject(
      new TurnFailedError(
        `The agent opened no session within ${HANDSHAKE_LIMIT_MS / 1000} s. Does its command speak the Agent Client Protocol?`,
      ),
    ),
  );
  try {
    return await Promise.race([shakeHands(agent, run, tell), late]);
  } finally {
    stop();
  }
}

async function shakeHands(
  agent: ClientContext,
  run: AgentRun,
  tell: (line: string) => void,
): Promise<OpenSession> {
  const { protocolVersion, agentCapabilities } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "docs-agent", version: "1" },
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: run.settings.terminal,
      ...(run.settings.asks ? { elicitation: { form: {} } } : {}),
    },
  });
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new TurnFailedError(
      `The agent speaks version ${protocolVersion} of the Agent Client Protocol; version ${PROTOCOL_VERSION} is needed.`,
    );
  }
  const way = wayToResume(agentCapabilities);
  const offered = { isResumable: way !== null, takes: agentCapabilities?.promptCapabilities ?? {} };
  const place = placeOf(run, agentCapabilities);
  const { kept, clock } = run;
  if (kept !== null && way !== null && (await isResumed(agent, { way, id: kept.id, place, clock, tell }))) {
    return { id: kept.id, knownTurns: kept.turns, ...offered };
  }
  const { sessionId } = await agent.request(methods.agent.session.new, place);
  return { id: sessionId, knownTurns: 0, ...offered };
}

/** Loading tells the whole conversation again, resuming doesn't. */
function wayToResume(offered: InitializeResponse["agentCapabilities"]): "resume" | "load" | null {
  if (offered?.sessionCapabilities?.resume) return "resume";
  return offered?.loadSession === true ? "load" : null;
}

/** False if the agent refuses, or doesn't answer in time. */
async function isResumed(
  agent: ClientContext,
  {
    way,
    id,
    place,
    clock,
    tell,
  }: {
    way: "resume" | "load";
    id: string;
    place: NewSessionRequest;
    clock: AgentRun["clock"];
    tell: (line: string) => void;
  },
): Promise<boolean> {
  const late = new AbortController();
  const stop = clock.wakeAt(clock.now() + RESUME_LIMIT_MS, () => late.abort("no answer"));
  try {
    await agent.request(
      methods.agent.session[way],
      { sessionId: id, ...place },
      { cancellationSignal: late.signal, stopWaitingOnCancel: true },
    );
    tell("the agent's session is resumed");
    return true;
  } catch (error) {
    // Anything else is the agent's end.
    if (!(error instanceof RequestError)) throw error;
    tell(
      `the agent's session can't be resumed, a new one begins: ${late.signal.aborted ? "no answer" : error.message}`,
    );
    return false;
  } finally {
    stop();
  }
}

function placeOf(
  { sandbox: { inside }, attachments }: AgentRun,
  offered: InitializeResponse["agentCapabilities"],
): NewSessionRequest {
  const takesFolders = offered?.sessionCapabilities?.additionalDirectories;
  return {
    cwd: inside.tree,
    mcpServers: [],
    ...(takesFolders && attachments.length > 0
      ? { additionalDirectories: [attachmentsFolder(inside.tmp)] }
      : {}),
  };
}
