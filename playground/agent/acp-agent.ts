import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import {
  agent,
  type AgentApp,
  type AgentContext,
  type ContentBlock,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { z } from "zod";
import { messageOf } from "../../src/shared/errors.ts";
import type { AgentMood } from "../agent-mood.ts";
import { listFiles } from "./folder.ts";
import { ToldToFailError } from "./mood.ts";
import type { TurnOperations } from "./operations.ts";
import { readWordList } from "./spelling.ts";
import { takeTurn } from "./turn.ts";

const ANSWER_LIMIT_MS = 30_000;
/** The only field of a form. */
const ANSWER = "answer";
const Given = z.object({ action: z.literal("accept"), content: z.object({ [ANSWER]: z.string() }) });

type Session = { cwd: string; running: AbortController | null };

/**
 * Creates the agent's side of the protocol. The agent reads and writes files through the client if
 * the client offers that, and asks for nothing else.
 */
export function createAgent(moodOf: () => AgentMood): AgentApp {
  const sessions = new Map<string, Session>();
  const words = readWordList();
  let canUseFiles = false;
  let canAsk = false;

  function mustFind(sessionId: string): Session {
    const session = sessions.get(sessionId);
    if (!session) throw RequestError.invalidParams({ sessionId }, "There is no such session");
    return session;
  }

  return agent({ name: "rule-based-agent" })
    .onRequest(methods.agent.initialize, ({ params }) => {
      const { fs, elicitation } = params.clientCapabilities ?? {};
      canAsk = elicitation?.form != null;
      canUseFiles = fs?.readTextFile === true && fs.writeTextFile === true;
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "rule-based-agent", title: "Rule-based agent (no AI)", version: "1" },
        agentCapabilities: { loadSession: false },
        authMethods: [],
      };
    })
    .onRequest(methods.agent.authenticate, () => ({}))
    .onRequest(methods.agent.session.new, ({ params }) => {
      if (!isAbsolute(params.cwd)) throw RequestError.invalidParams({}, "cwd must be an absolute path");
      const sessionId = randomUUID();
      sessions.set(sessionId, { cwd: params.cwd, running: null });
      return { sessionId };
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
      const session = mustFind(params.sessionId);
      if (session.running) throw RequestError.invalidRequest({}, "A turn is running in this session");
      const running = new AbortController();
      session.running = running;
      const { sessionId } = params;
      const ended = AbortSignal.any([signal, running.signal]);
      const operations = operationsOf(
        client,
        { sessionId, cwd: session.cwd, canUseFiles, canAsk, moodOf },
        ended,
      );
      try {
        await takeTurn(textsOf(params.prompt), operations, words);
        return { stopReason: "end_turn" };
      } catch (thrown) {
        if (running.signal.aborted) return { stopReason: "cancelled" };
        throw thrown instanceof ToldToFailError
          ? RequestError.internalError(undefined, messageOf(thrown))
          : thrown;
      } finally {
        session.running = null;
      }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      sessions.get(params.sessionId)?.running?.abort();
    });
}

/**
 * Parts the last text, which is the request, from those before it. They describe the place, earlier
 * turns, and what people say about the job's pull request.
 */
function textsOf(blocks: readonly ContentBlock[]): { prompt: string; context: string } {
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return { prompt: texts.at(-1) ?? "", context: texts.slice(0, -1).join("\n\n") };
}

function operationsOf(
  client: AgentContext,
  {
    sessionId,
    cwd,
    canUseFiles,
    canAsk,
    moodOf,
  }: {
    sessionId: string;
    cwd: string;
    canUseFiles: boolean;
    canAsk: boolean;
    moodOf: () => AgentMood;
  },
  signal: AbortSignal,
): TurnOperations {
  const limited = () => ({
    cancellationSignal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]),
    stopWaitingOnCancel: true,
  });
  const update = (change: SessionUpdate): Promise<void> =>
    client.notify(methods.client.session.update, { sessionId, update: change });
  /** Tells the client that a tool call begins. Resolves to its id. */
  async function begin(title: string, kind: "read" | "edit", path: string): Promise<string> {
    const toolCallId = randomUUID();
    const locations = [{ path }];
    await update({ sessionUpdate: "tool_call", toolCallId, title, kind, status: "in_progress", locations });
    return toolCallId;
  }

  return {
    signal,
    moodOf,
    listFiles: () => listFiles(cwd),
    async read(path) {
      if (!canUseFiles) return readFile(join(cwd, path), "utf8");
      const answer = await client.request(
        methods.client.fs.readTextFile,
        { sessionId, path: join(cwd, path) },
        limited(),
      );
      return answer.content;
    },
    async lookAt(path, look) {
      const toolCallId = await begin(`Read ${path}`, "read", join(cwd, path));
      await look();
      await update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
    },
    async write(path, before, after) {
      const where = join(cwd, path);
      const toolCallId = await begin(`Edit ${path}`, "edit", where);
      try {
        const wanted = { sessionId, path: where, content: after };
        if (canUseFiles) await client.request(methods.client.fs.writeTextFile, wanted, limited());
        else await writeFile(where, after);
      } catch (thrown) {
        await update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
        throw thrown;
      }
      await update({
        sessionUpdate: "tool_call_update",
        toolCallId,
        status: "completed",
        content: [{ type: "diff", path: where, oldText: before, newText: after }],
      });
    },
    writeAside: (file, text) => writeFile(file, text),
    async ask(question, choices) {
      if (!canAsk) return null;
      const field = { type: "string", ...(choices === undefined ? {} : { enum: [...choices] }) } as const;
      const answer = await client.request(
        methods.client.elicitation.create,
        {
          sessionId,
          mode: "form",
          message: question,
          requestedSchema: { type: "object", properties: { [ANSWER]: field }, required: [ANSWER] },
        },
        // The client decides how long a person may take.
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      );
      const given = Given.safeParse(answer);
      return given.success ? given.data.content[ANSWER] : null;
    },
    think: (text) => update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } }),
    say: (text) =>
      update({
        sessionUpdate: "agent_message_chunk",
        messageId: randomUUID(),
        content: { type: "text", text },
      }),
  };
}
