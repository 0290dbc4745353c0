import {
  client,
  CreateElicitationRequest,
  type ClientContext,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import type { StopReason } from "@agentclientprotocol/sdk";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../errors.ts";
import { oneLine } from "../../printable-text.ts";
import { TurnFailedError } from "../run-error.ts";
import { createAcpFiles } from "./acp-files.ts";
import { AcpPermissions } from "./acp-permissions.ts";
import { AcpTerminals } from "./acp-terminals.ts";
import { AcpUpdates } from "./acp-updates.ts";
import { answerForm } from "./acp-questions.ts";
import type { AgentResult, AgentRun } from "./agent.ts";
import { failureOf, lastWordsOf, refusedText } from "./ending.ts";
import { PausableClock } from "./pausable-clock.ts";
import { ProgressLines } from "./progress.ts";
import { earlierTurnsText, taskText } from "./prompt-text.ts";
import { startAgent } from "./start-agent.ts";

/** How long an agent may take until it has a session: some load models or download themselves first. */
const HANDSHAKE_LIMIT_MS = 120_000;
const LAST_WORDS_MS = 1000;
const AUTH_REQUIRED = -32_000;
const MAX_SAID_LENGTH = 500;
const CHECK_PROTOCOL = "Does agent.command speak the Agent Client Protocol?";

/** Drives any agent that speaks the Agent Client Protocol over its standard input and output. Its last message is the summary. */
export async function runAcpAgent(given: AgentRun): Promise<AgentResult> {
  const over = new AbortController();
  const run = withPersonsTime(given, over.signal);
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const toInput = input.writable.getWriter();
  // No back pressure: what can wait here is bounded by the output limit.
  const { group, lastWords: lastWordsNow } = await startAgent(
    run,
    (chunk) => void toInput.write(chunk).catch(() => {}),
  );
  void group.ended.then(() => toInput.close()).catch(() => {});

  const progress = new ProgressLines(run.onProgress, run.redact);
  const { terminal, asks } = run.settings;
  const permissions = new AcpPermissions({
    tree: run.sandbox.inside.tree,
    terminal,
    ask: asks ? run.ask : null,
    onRefused: (what) => {
      progress.line(`refused: ${what}`);
      run.onRefused(what);
    },
    redact: run.redact,
  });
  const updates = new AcpUpdates(progress, permissions, run);
  const terminals = new AcpTerminals(run);
  const app = createClient(run, permissions, updates, terminals);
  const stream = ndJsonStream(Writable.toWeb(group.stdin), input.readable, {
    maxMessageBytes: run.settings.maxOutputBytes,
  });
  const turn = app
    .connectWith(stream, (agent) => converse(agent, run))
    .then(
      (stopReason) => ({ stopReason }),
      (error: unknown) => ({ error }),
    );
  // What the agent said before its end is still read; then the connection notices the end. If not, we do.
  const gone = group.ended.then(() => sleep(LAST_WORDS_MS, { error: new Error("The agent ended") }));
  const first = await Promise.race([turn, gone]);
  // Nobody waits for an answer any more, and the clock goes on.
  over.abort();
  const ending = await group.stop();
  await terminals.close();
  progress.flush();
  run.signal.throwIfAborted();

  const lastWords = lastWordsNow();
  // Told apart from an exit: "stopped" is our own doing, after the turn was over.
  if (ending.kind !== "stopped" && "error" in first) {
    throw (
      failureOf(ending, run.settings, lastWords) ??
      new TurnFailedError("The agent ended before it answered.", { details: [CHECK_PROTOCOL] })
    );
  }
  if ("error" in first) throw failureOfTurn(first.error, run, lastWords);
  const result = { summary: updates.summary(), refused: permissions.refused };
  throwUnlessDone(first.stopReason, result);
  return result;
}

/** The run with a clock that stands still while a person is asked: their time has a limit of its own. `over`: nobody waits any more. */
function withPersonsTime(run: AgentRun, over: AbortSignal): AgentRun {
  const clock = new PausableClock(run.clock);
  const isOver = new Promise<null>((resolve) => over.addEventListener("abort", () => resolve(null)));
  return {
    ...run,
    clock,
    ask: async (question) => {
      if (over.aborted) return null;
      const goOn = clock.pause();
      try {
        return await Promise.race([run.ask(question), isOver]);
      } finally {
        goOn();
      }
    },
  };
}

function createClient(
  run: AgentRun,
  permissions: AcpPermissions,
  updates: AcpUpdates,
  terminals: AcpTerminals,
) {
  const files = createAcpFiles(run);
  const app = client({ name: "docs-agent" })
    .onRequest(methods.client.fs.readTextFile, ({ params }) => files.read(params))
    .onRequest(methods.client.fs.writeTextFile, ({ params }) => files.write(params))
    .onRequest(methods.client.session.requestPermission, ({ params }) =>
      permissions.answer(params.toolCall, params.options),
    )
    .onRequest(methods.client.elicitation.create, ({ params }) =>
      run.settings.asks && CreateElicitationRequest.isForm(params)
        ? answerForm(params, run)
        : { action: "decline" as const },
    )
    .onNotification(methods.client.session.update, ({ params }) => updates.take(params.update));
  if (!run.settings.terminal) return app;
  return app
    .onRequest(methods.client.terminal.create, ({ params }) => terminals.create(params))
    .onRequest(methods.client.terminal.output, ({ params }) => terminals.output(params.terminalId))
    .onRequest(methods.client.terminal.waitForExit, ({ params }) => terminals.exit(params.terminalId))
    .onRequest(methods.client.terminal.kill, ({ params }) => terminals.kill(params.terminalId))
    .onRequest(methods.client.terminal.release, ({ params }) => terminals.release(params.terminalId));
}

async function converse(agent: ClientContext, run: AgentRun): Promise<StopReason> {
  const sessionId = await withinHandshake(run, () => openSession(agent, run));
  const earlier = earlierTurnsText(run.earlierTurns);
  const context = [taskText(run.docs), earlier].filter((text) => text !== "").join("\n\n");
  const { stopReason } = await agent.request(methods.agent.session.prompt, {
    sessionId,
    // The request itself is the last block, alone: an agent may act on nothing else.
    prompt: [
      { type: "text", text: context },
      { type: "text", text: run.prompt },
    ],
  });
  return stopReason;
}

async function openSession(agent: ClientContext, run: AgentRun): Promise<string> {
  const { protocolVersion } = await agent.request(methods.agent.initialize, {
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
  const session = await agent.request(methods.agent.session.new, {
    cwd: run.sandbox.inside.tree,
    mcpServers: [],
  });
  return session.sessionId;
}

async function withinHandshake<Result>(run: AgentRun, act: () => Promise<Result>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stop = run.clock.wakeAt(run.clock.now() + HANDSHAKE_LIMIT_MS, () =>
    reject(
      new TurnFailedError(`The agent opened no session within ${HANDSHAKE_LIMIT_MS / 1000} s.`, {
        details: [CHECK_PROTOCOL],
      }),
    ),
  );
  try {
    return await Promise.race([act(), late]);
  } finally {
    stop();
  }
}

function failureOfTurn(error: unknown, run: AgentRun, lastWords: string): TurnFailedError {
  if (error instanceof TurnFailedError) return error;
  if (error instanceof RequestError && error.code === AUTH_REQUIRED) {
    return new TurnFailedError("The agent asks for a login.", {
      details: ["Add its model under models, or name the variable with its key in agentEnv."],
    });
  }
  const said = oneLine(run.redact(messageOf(error)), MAX_SAID_LENGTH)
    .replace(/^Internal error:? */, "")
    .replace(/\.$/, "");
  return new TurnFailedError(said === "" ? "The agent failed." : `The agent failed: ${said}.`, {
    details: lastWordsOf(lastWords, said),
  });
}

function throwUnlessDone(stopReason: StopReason, result: AgentResult): void {
  if (stopReason === "end_turn") return;
  const said = result.summary === null ? null : `It said: ${oneLine(result.summary, MAX_SAID_LENGTH)}`;
  const details = [said, refusedText(result.refused)].filter((text) => text !== null);
  throw new TurnFailedError([NOT_DONE[stopReason], ...details].join(" "));
}

const NOT_DONE: Record<Exclude<StopReason, "end_turn">, string> = {
  refusal: "The agent refused the request.",
  cancelled: "The agent says that its turn was cancelled.",
  max_tokens: "The agent stopped before it was done (max_tokens). Ask for less at once.",
  max_turn_requests: "The agent stopped before it was done (max_turn_requests). Ask for less at once.",
};
