import { mayAsk } from "../../config/agent-presets.ts";
import {
  type ClientContext,
  methods,
  type NewSessionRequest,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { basename } from "node:path";
import { z } from "zod";
import { within, type Clock } from "../../../shared/machine/ports.ts";
import { redactedLine } from "../../base/printable-text.ts";
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

const MAX_COMMAND_LENGTH = 100;
const MAX_LINE_LENGTH = 300;

type Telling = {
  /** Tells the operator whether a session was resumed. */
  tell: (line: string) => void;
  /** The last line that the agent has printed. Empty if there is none. */
  lastLine: () => string;
};

/**
 * Opens a session: the kept one if the agent resumes it, or else a new one. `knownTurns` is how
 * many of the job's first turns it already knows. Rejects with a `TurnFailedError` if the agent
 * doesn't answer in time.
 */
export async function openSession(agent: ClientContext, run: AgentRun, { tell, lastLine }: Telling) {
  const limitMs = startLimitMs(run.settings);
  const orLate = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    const answered = await within(run.clock, limitMs, answer, LATE);
    if (answered !== LATE) return answered;
    throw lateError(run, { limitMs, lastLine: lastLine() });
  };
  const initialized = await orLate(
    agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "docs-agent", version: "1" },
      clientCapabilities: mayAsk(run.settings) ? { elicitation: { form: {} } } : {},
    }),
  );
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
    const asked = { sessionId: kept.id, ...place };
    const problem = await problemOfResuming(agent, way, asked, { clock: run.clock, limitMs });
    tell(
      problem === null
        ? "the agent's session is resumed"
        : `the agent's session can't be resumed, a new one begins: ${problem}`,
    );
    if (problem === null) return { id: kept.id, knownTurns: kept.turns, ...session };
  }
  const opened = await orLate(agent.request(methods.agent.session.new, place));
  checkAnswer(methods.agent.session.new, opened, SessionOpened);
  return { id: opened.sessionId, knownTurns: 0, ...session };
}

const LATE = Symbol("late");

/** How long an agent may take for each answer. A turn with a short limit waits for half of it. */
function startLimitMs(settings: AgentRun["settings"]): number {
  const startMs = settings.kind === "acp" ? settings.startSeconds * 1000 : Infinity;
  return Math.min(startMs, (settings.timeLimitMinutes * 60_000) / 2);
}

function lateError(
  { settings: { command }, redact }: AgentRun,
  { limitMs, lastLine }: { limitMs: number; lastLine: string },
): TurnFailedError {
  const [program = "", ...args] = command;
  const named = redactedLine(redact, [basename(program), ...args].join(" "), MAX_COMMAND_LENGTH);
  const line = redactedLine(redact, lastLine, MAX_LINE_LENGTH);
  const said = line === "" ? "It printed nothing." : `Its last line: ${line}`;
  return new TurnFailedError(`${named} didn't answer within ${limitMs / 1000} seconds. ${said}`, {
    details: [CHECK_PROTOCOL, "If it takes longer to start, raise agent.startSeconds."],
  });
}

/** Why the agent can't resume a session, or null if it can. */
async function problemOfResuming(
  agent: ClientContext,
  way: "resume" | "load",
  session: NewSessionRequest & { sessionId: string },
  { clock, limitMs }: { clock: Clock; limitMs: number },
): Promise<string | null> {
  const late = new AbortController();
  const stop = clock.wakeAt(clock.now() + limitMs, () => late.abort("no answer"));
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
