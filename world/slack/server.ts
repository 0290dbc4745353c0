import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { messageOf } from "../../src/shared/errors.ts";
import { jsonOf } from "../../src/shared/text/text.ts";
import type { Call, Fault, Faults } from "./faults.ts";
import { answerDownload } from "./files.ts";
import type { Limits } from "./limits.ts";
import { SlackRefusal } from "./refusal.ts";
import { type ResponseUrls, statusOfRefusal } from "./response-urls.ts";
import type { SocketModeSide } from "./socket-mode.ts";
import { type Args, parseBody } from "./web-api/args.ts";
import { answerCall, type SlackSideTokens } from "./web-api/index.ts";
import type { MethodContext } from "./web-api/method.ts";

/** A hook that is awaited before a call takes effect, and again before the call is answered. */
export type CallHook = (phase: "before" | "after", call: Call) => Promise<void> | void;

/** A request for a file, and its `Authorization` header. */
export type Download = { id: string; authorization: string | undefined };

type ServerDeps = {
  context: MethodContext;
  tokens: SlackSideTokens;
  responseUrls: ResponseUrls;
  socketMode: SocketModeSide;
  faults: Faults;
  calls: Call[];
  downloads: Download[];
  hooks: ReadonlySet<CallHook>;
  limits: Limits;
  now: () => number;
};

type Answer = {
  status: number;
  body: string;
  /** The result for the log of calls. */
  result: string;
  headers?: Record<string, string>;
};

/**
 * Makes the HTTP server that an app talks to: `/api/<method>`, `/response/<secret>`, and the
 * upgrade to Socket Mode.
 */
export function createSlackServer(deps: ServerDeps): Server {
  const server = createServer((request, response) => {
    // Apps may read the time from this header, so it comes from this workspace's clock.
    response.setHeader("date", new Date(deps.limits.slackNow()).toUTCString());
    // A client that breaks off a call must not end the server.
    request.on("error", () => response.destroy());
    response.on("error", () => response.destroy());
    handle(request, response, deps).catch((thrown: unknown) => {
      if (request.destroyed && !request.complete) return;
      send(response, { status: 500, body: `The Slack side failed: ${messageOf(thrown)}`, result: "" });
    });
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    deps.socketMode.accept(request, socket, head);
  });
  return server;
}

async function handle(request: IncomingMessage, response: ServerResponse, deps: ServerDeps): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const [, area, name = ""] = pathname.split("/");
  if (request.method === "POST" && area === "api") return handleApi(name, request, response, deps);
  if (request.method === "GET" && area === "files-pri") {
    deps.downloads.push({ id: name, authorization: request.headers.authorization });
    const { workspace, scopes } = deps.context;
    const isReady = deps.now() >= workspace.fileSettings.readyAtMs;
    const access = { token: deps.tokens.bot, scopes, isReady };
    const found = answerDownload(workspace.findFile(name), request, access);
    response.writeHead(found.status, { "content-type": found.type }).end(found.body);
    return;
  }
  if (request.method === "POST" && area === "upload") {
    const [, , , ticket = ""] = pathname.split("/");
    const content = Buffer.from(await readBody(request));
    await serve({ method: "upload", args: {}, at: deps.now() }, response, deps, () => {
      const status = deps.context.workspace.uploads.receive(ticket, content);
      return { status, body: status === 200 ? `OK - ${content.length}` : "", result: String(status) };
    });
    return;
  }
  if (request.method === "POST" && area === "response") return handleResponse(name, request, response, deps);
  send(response, { status: 404, body: "no such page", result: "" });
}

async function handleApi(
  method: string,
  request: IncomingMessage,
  response: ServerResponse,
  deps: ServerDeps,
): Promise<void> {
  const body = await readBody(request);
  const parsed = tryParse(request.headers["content-type"] ?? "", body);
  if (parsed instanceof SlackRefusal) {
    send(response, json(200, { ok: false, error: parsed.error }));
    return;
  }
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? parsed.token;
  await serve({ method, args: parsed.args, at: deps.now() }, response, deps, () =>
    json(200, answerCall({ method, args: parsed.args, token }, deps.context, deps.tokens), {
      "x-oauth-scopes": deps.context.scopes.join(","),
    }),
  );
}

async function handleResponse(
  secret: string,
  request: IncomingMessage,
  response: ServerResponse,
  deps: ServerDeps,
): Promise<void> {
  const body = jsonOf(await readBody(request));
  const args: Args = typeof body === "object" && body !== null ? { ...body } : {};
  const userId = deps.responseUrls.userIdOf(secret);
  const call = { method: "response_url", args, at: deps.now(), ...(userId !== undefined && { userId }) };
  await serve(call, response, deps, () => {
    try {
      deps.responseUrls.use(secret, body);
      return { status: 200, body: "ok", result: "ok" };
    } catch (thrown) {
      if (!(thrown instanceof SlackRefusal)) throw thrown;
      return json(statusOfRefusal(thrown.error), { ok: false, error: thrown.error });
    }
  });
}

/** Logs a call, runs hooks, limits and faults on it, and answers it. */
async function serve(
  call: Call,
  response: ServerResponse,
  { calls, hooks, faults, limits }: ServerDeps,
  run: () => Answer,
): Promise<void> {
  async function takeEffect(): Promise<Answer> {
    const answer = run();
    call.result = answer.result;
    for (const hook of hooks) await hook("after", call);
    return answer;
  }
  calls.push(call);
  for (const hook of hooks) await hook("before", call);
  const retryAfterS = limits.take(call);
  const fault: Fault | undefined =
    retryAfterS === undefined ? faults.take(call) : { kind: "ratelimited", retryAfterS };
  if (fault === undefined) {
    send(response, await takeEffect());
    return;
  }
  await strike(fault, response, takeEffect);
  call.result = fault.kind === "error" ? fault.error : fault.kind;
}

async function strike(
  fault: Fault,
  response: ServerResponse,
  takeEffect: () => Promise<Answer>,
): Promise<void> {
  switch (fault.kind) {
    case "ratelimited":
      return send(
        response,
        json(429, { ok: false, error: "ratelimited" }, { "retry-after": String(fault.retryAfterS) }),
      );
    case "http":
      if (fault.isDone === true) await takeEffect();
      return send(response, { status: fault.status, body: fault.body ?? "", result: "" });
    case "error":
      return send(response, json(200, { ok: false, error: fault.error }));
    case "drop-before":
      response.destroy();
      return;
    case "drop-after":
      await takeEffect();
      response.destroy();
      return;
    case "hang":
      return;
    case "garbage":
      return send(response, {
        status: 200,
        body: "<!DOCTYPE html><title>Slack is having trouble</title>",
        headers: { "content-type": "text/html; charset=utf-8" },
        result: "",
      });
  }
}

function tryParse(contentType: string, body: string): ReturnType<typeof parseBody> | SlackRefusal {
  try {
    return parseBody(contentType, body);
  } catch (thrown) {
    if (thrown instanceof SlackRefusal) return thrown;
    throw thrown;
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

function json(status: number, body: Record<string, unknown>, headers: Record<string, string> = {}): Answer {
  return {
    status,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
    result: body["ok"] === true ? "ok" : String(body["error"]),
  };
}

function send(response: ServerResponse, answer: Answer): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}
