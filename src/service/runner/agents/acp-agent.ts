import { mayAsk } from "../../config/agent-presets.ts";
import {
  client,
  CreateElicitationRequest,
  type ContentBlock,
  methods,
  RequestError,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { messageOf } from "../../../shared/errors.ts";
import { oneLine, redactedLine } from "../../base/printable-text.ts";
import { AgentCutOffError, TransientRunError, TurnFailedError } from "../../base/run-error.ts";
import { AcpPermissions, refusedText } from "./acp-permissions.ts";
import { CHECK_PROTOCOL, checkAnswer, type OpenSession, openSession } from "./acp-session.ts";
import { acpStream, drained } from "./acp-stream.ts";
import { AcpUpdates } from "./acp-updates.ts";
import { answerForm } from "./acp-questions.ts";
import { type AgentResult, type AgentRun, ProgressLines } from "./agent.ts";
import { failureOf, lastWordsOf, startAgent } from "./agent-process.ts";
import { attachmentBlocks } from "./attachments.ts";
import { PausableClock } from "./pausable-clock.ts";
import {
  attachmentsText,
  earlierTurnsText,
  findingsText,
  materialText,
  othersChangesText,
  questionText,
  RESUMED_TEXT,
} from "./brief.ts";

const LAST_WORDS_MS = 1000;
const AUTH_REQUIRED = -32_000;
const MAX_SAID_LENGTH = 500;
/** The time for all answers together. A single answer may take all of it. */
const MAX_PERSONS_TIME_MS = 24 * 60 * 60_000;

/**
 * Runs any agent that speaks the Agent Client Protocol over standard input and output. Its last
 * message is the summary.
 */
export async function runAcpAgent(given: AgentRun): Promise<AgentResult> {
  const over = new AbortController();
  const run = withPersonsTime(given, over.signal);
  const fromAgent = new PassThrough();
  const {
    group,
    lastWords: lastWordsNow,
    lastLine,
  } = await startAgent(run, (chunk) => {
    // Nobody reads this anymore, so the agent's output isn't read either until the agent is gone.
    if (fromAgent.destroyed) return new Promise(() => {});
    return fromAgent.write(chunk) ? undefined : drained(fromAgent);
  });
  void group.ended.then(() => fromAgent.end());

  const progress = new ProgressLines(run);
  const permissions = new AcpPermissions(run, (what) => {
    progress.line(`refused: ${what}`);
    run.logger.warn({ what }, "agent was refused a permission");
  });
  const updates = new AcpUpdates(progress, permissions, run);
  const app = createClient(run, permissions, updates);
  const stream = acpStream(group.stdin, fromAgent, run);
  const opened: { session: OpenSession | null } = { session: null };
  const turn = app
    .connectWith(stream, async (agent) => {
      const session = await openSession(agent, run, { tell: (line) => progress.line(line), lastLine });
      if (session.knownTurns > 0) await updates.quiet();
      opened.session = session;
      updates.begin(session);
      const answer = await agent.request(methods.agent.session.prompt, {
        sessionId: session.id,
        prompt: await promptFor(session, run),
      });
      checkAnswer(methods.agent.session.prompt, answer, Prompted);
      return { stopReason: answer.stopReason };
    })
    .catch((error: unknown) => ({ error }));
  // Reads what the agent said before its end, and then the connection closes. If it doesn't, we
  // close it.
  const gone = group.ended
    .then(() => stream.isRead)
    .then(() => sleep(LAST_WORDS_MS, { error: new Error("The agent ended") }));
  const first = await Promise.race([turn, gone]);
  // Nobody waits for an answer anymore, so the clock runs again.
  over.abort();
  const ending = await group.stop();
  progress.flush();
  run.signal.throwIfAborted();

  const { session } = opened;
  const lastWords = lastWordsNow();
  if ("error" in first) {
    // Distinguished from an exit, because we stop an agent ourselves after its turn is over.
    const failure =
      ending.kind === "stopped"
        ? failureOfTurn(first.error, run, lastWords)
        : (failureOf(ending, run.settings, lastWords) ??
          new AgentCutOffError("The agent ended before it answered.", { details: [CHECK_PROTOCOL] }));
    // The next attempt has no session to resume.
    if (run.kept !== null && session === null) {
      throw new TransientRunError(`The agent's session could not be resumed. ${failure.message}`, {
        details: failure.details,
      });
    }
    throw failure;
  }
  const result = {
    summary: updates.summary(),
    refused: permissions.refused,
    session: session?.isResumable
      ? { id: session.id, costUsd: updates.sessionCostUsd, turns: run.number }
      : null,
  };
  throwUnlessDone(first.stopReason, result, run);
  return result;
}

const Prompted = z.object({ stopReason: z.string() });

/**
 * Returns the run with a clock that stands still while a person is asked. Their time has its own
 * limit. `over` aborts when nobody waits anymore.
 */
function withPersonsTime(run: AgentRun, over: AbortSignal): AgentRun {
  const clock = new PausableClock(run.clock, MAX_PERSONS_TIME_MS);
  const ended = AbortSignal.any([over, run.signal]);
  const isOver = new Promise<null>((resolve) => ended.addEventListener("abort", () => resolve(null)));
  return {
    ...run,
    clock,
    ask: async (question) => {
      if (ended.aborted) return null;
      using _ = clock.pause();
      return await Promise.race([run.ask(question), isOver]);
    },
  };
}

/** Offers agents no files and no terminals, because they have both in their sandbox. */
function createClient(run: AgentRun, permissions: AcpPermissions, updates: AcpUpdates) {
  return client({ name: "docs-agent" })
    .onRequest(methods.client.session.requestPermission, ({ params }) =>
      permissions.answer(params.toolCall, params.options),
    )
    .onRequest(methods.client.elicitation.create, ({ params }) =>
      mayAsk(run.settings) && CreateElicitationRequest.isForm(params)
        ? answerForm(params, run)
        : { action: "decline" as const },
    )
    .onNotification(methods.client.session.update, ({ params }) => updates.take(params));
}

/** What the agent is told: everything that its session doesn't know yet. */
async function promptFor({ takes, knownTurns }: OpenSession, run: AgentRun): Promise<ContentBlock[]> {
  const again = findingsText(run.findings);
  if (knownTurns === run.number) return [{ type: "text", text: again }];
  const unknown = run.number - 1 - knownTurns;
  const texts = [
    ...(knownTurns === 0 ? [run.brief.whole] : [run.brief.reminder, RESUMED_TEXT]),
    unknown === 0 ? "" : earlierTurnsText(run.earlierTurns.slice(-unknown), run.number),
    attachmentsText(run.attachments),
    materialText(run),
    othersChangesText(run),
    questionText(run),
  ];
  const context = texts.filter((text) => text !== "").join("\n\n");
  run.onBrief([context, `Now:\n${run.prompt}`, again].filter((text) => text !== "").join("\n\n"));
  return [
    { type: "text", text: context },
    ...(await attachmentBlocks(run.attachments, takes)),
    // The request itself is the last block, on its own, because an agent may ignore the others.
    { type: "text", text: again === "" ? run.prompt : `${run.prompt}\n\n${again}` },
  ];
}

function failureOfTurn(error: unknown, run: AgentRun, lastWords: string): TurnFailedError {
  if (error instanceof TurnFailedError) return error;
  if (error instanceof RequestError && error.code === AUTH_REQUIRED) {
    return new TurnFailedError("The agent asks for a login.", {
      details: ["Add its model under models, or name the variable with its key in agentEnv."],
    });
  }
  const said = redactedLine(run.redact, messageOf(error), MAX_SAID_LENGTH)
    .replace(/^Internal error:? */, "")
    .replace(/\.$/, "");
  return new TurnFailedError(said === "" ? "The agent failed." : `The agent failed: ${said}.`, {
    details: lastWordsOf(lastWords, said),
  });
}

function throwUnlessDone(stopReason: string, result: AgentResult, run: AgentRun): void {
  if (stopReason === "end_turn") return;
  const said = result.summary === null ? null : `It said: ${oneLine(result.summary, MAX_SAID_LENGTH)}`;
  const details = [said, refusedText(result.refused)].filter((text) => text !== null);
  const known = new Map<string, string>(Object.entries(NOT_DONE)).get(stopReason);
  // The protocol may get further kinds.
  const other =
    "The agent stopped before it was done " +
    `(${redactedLine(run.redact, stopReason, MAX_STOP_REASON_LENGTH)}).`;
  throw new TurnFailedError([known ?? other, ...details].join(" "));
}

const MAX_STOP_REASON_LENGTH = 100;
const NOT_DONE: Record<Exclude<StopReason, "end_turn">, string> = {
  refusal: "The agent refused the request.",
  cancelled: "The agent says that its turn was canceled.",
  max_tokens: "The agent stopped before it was done (max_tokens). Ask for less at once.",
  max_turn_requests: "The agent stopped before it was done (max_turn_requests). Ask for less at once.",
};
