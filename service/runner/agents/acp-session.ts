import { mayAsk } from "../../config/agent-presets.ts";
import {
  type ClientContext,
  methods,
  type NewSessionRequest,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { z } from "zod";
import { within, type Clock } from "../../../src/core/ports/process.ts";
import { TurnFailedError } from "../../base/run-error.ts";
import { type AgentRun, foldersBesideTree } from "./agent.ts";

/** A session that is ready for a prompt. */
export type OpenSession = Awaited<ReturnType<typeof openSession>>;

/** Advice for the operator if an agent doesn't answer as it should. */
export const CHECK_PROTOCOL = "Does agent.command speak the Agent Client Protocol?";

const Initialized = z.object({ protocolVersion: z.number(), agentCapabilities: z.object({}).optional() });
const SessionOpened = z.object({ sessionId: z.string() });

/** Throws if an answer lacks what we need of it. The protocol's client doesn't check that. */
export function checkAnswer(method: string, answer: unknown, schema: z.ZodType): void {
  if (schema.safeParse(answer).success) return;
  throw new TurnFailedError(`The agent's answer to "${method}" breaks the Agent Client Protocol.`, {
    details: [CHECK_PROTOCOL],
  });
}

/** The longest time until an agent has a session. Some load models or download themselves first. */
const HANDSHAKE_LIMIT_MS = 120_000;
/** The longest time for resuming one. After that, there is still time for a new one. */
const RESUME_LIMIT_MS = 60_000;

/**
 * Opens a session: the kept one if the agent resumes it, or else a new one. Tells the operator
 * which. `knownTurns` is how many of the job's first turns it already knows.
 */
export async function openSession(agent: ClientContext, run: AgentRun, tell: (line: string) => void) {
  const session = await within(run.clock, HANDSHAKE_LIMIT_MS, shakeHands(agent, run, tell), null);
  if (session !== null) return session;
  throw new TurnFailedError(`The agent opened no session within ${HANDSHAKE_LIMIT_MS / 1000} s.`, {
    details: [CHECK_PROTOCOL],
  });
}

async function shakeHands(agent: ClientContext, run: AgentRun, tell: (line: string) => void) {
  const initialized = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "docs-agent", version: "1" },
    clientCapabilities: mayAsk(run.settings) ? { elicitation: { form: {} } } : {},
  });
  checkAnswer(methods.agent.initialize, initialized, Initialized);
  const { protocolVersion, agentCapabilities: offered = {} } = initialized;
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new TurnFailedError(
      `The agent speaks version ${protocolVersion} of the Agent Client Protocol; version ` +
        `${PROTOCOL_VERSION} is needed.`,
    );
  }
  const place: NewSessionRequest = {
    cwd: run.sandbox.inside.tree,
    mcpServers: [],
    ...(offered.sessionCapabilities?.additionalDirectories && {
      additionalDirectories: foldersBesideTree(run),
    }),
  };
  // Loading repeats the whole conversation. Resuming doesn't.
  const load = offered.loadSession === true ? "load" : null;
  const way = offered.sessionCapabilities?.resume ? "resume" : load;
  const session = {
    /** True if the agent offers to resume it later. */
    isResumable: way !== null,
    /** What a prompt may contain besides texts and links. */
    takes: offered.promptCapabilities ?? {},
  };
  const { kept } = run;
  if (kept !== null && way !== null) {
    const problem = await problemOfResuming(agent, way, { sessionId: kept.id, ...place }, run.clock);
    tell(
      problem === null
        ? "the agent's session is resumed"
        : `the agent's session can't be resumed, a new one begins: ${problem}`,
    );
    if (problem === null) return { id: kept.id, knownTurns: kept.turns, ...session };
  }
  const opened = await agent.request(methods.agent.session.new, place);
  checkAnswer(methods.agent.session.new, opened, SessionOpened);
  return { id: opened.sessionId, knownTurns: 0, ...session };
}

/** Why the agent can't resume a session, or null if it can. */
async function problemOfResuming(
  agent: ClientContext,
  way: "resume" | "load",
  session: NewSessionRequest & { sessionId: string },
  clock: Clock,
): Promise<string | null> {
  const late = new AbortController();
  const stop = clock.wakeAt(clock.now() + RESUME_LIMIT_MS, () => late.abort("no answer"));
  try {
    const options = { cancellationSignal: late.signal, stopWaitingOnCancel: true };
    await agent.request(methods.agent.session[way], session, options);
    return null;
  } catch (error) {
    // Any other error means that the agent has ended.
    if (!(error instanceof RequestError)) throw error;
    return late.signal.aborted ? "no answer" : error.message;
  } finally {
    stop();
  }
}
