import type { IncomingMessage, ServerResponse } from "node:http";
import type { TurnAct } from "../../src/shared/contract/turn.ts";

/** The operations of the API. */
export type JobServiceOp =
  | "create"
  | "get"
  | "message"
  | "answer"
  | "cancel"
  | "diff"
  | "close"
  | "changes"
  | "ask"
  | TurnAct;

/** The meaning of a request. `turn` is the number of the turn to cancel. */
export type SideRoute = { op: JobServiceOp; projectId: string; jobId: string | null; turn?: number };
export type SideReply = { status: number; json: unknown };

export function send(
  response: ServerResponse,
  { status, json }: SideReply,
  headers: Record<string, string> = {},
): void {
  sendText(response, status, JSON.stringify(json), { "content-type": "application/json", ...headers });
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string | Buffer,
  headers: Record<string, string>,
): void {
  if (!response.destroyed) response.writeHead(status, headers).end(text);
}

/** The parts of a path about jobs: project, job, operation, and the turn to cancel. */
const JOB_PATH = new RegExp(
  [
    String.raw`^/v2/agent/([^/]+)/job`,
    String.raw`(?:/([^/]+)(?:/(message|ask|answer|diff|address|update|pull-request/close))?`,
    String.raw`(?:/turn/(\d+)/cancel)?)?$`,
  ].join(""),
);

export function routeOf(request: IncomingMessage): SideRoute | null {
  const path = (request.url ?? "").split("?")[0] ?? "";
  const [, project, job, call, turn] = JOB_PATH.exec(path) ?? [];
  const feed = /^\/v2\/agent\/([^/]+)\/changes$/.exec(path)?.[1];
  if (feed !== undefined && request.method === "GET") {
    return { op: "changes", projectId: decode(feed), jobId: null };
  }
  const asked = /^\/v2\/agent\/([^/]+)\/ask$/.exec(path)?.[1];
  if (asked !== undefined && request.method === "POST") {
    return { op: "ask", projectId: decode(asked), jobId: null };
  }
  if (project === undefined) return null;
  const projectId = decode(project);
  if (job === undefined) return request.method === "POST" ? { op: "create", projectId, jobId: null } : null;
  const jobId = decode(job);
  if (turn === undefined && call === undefined) {
    return request.method === "GET" ? { op: "get", projectId, jobId } : null;
  }
  if (call === "diff") return request.method === "GET" ? { op: "diff", projectId, jobId } : null;
  if (request.method !== "POST") return null;
  if (turn !== undefined) return { op: "cancel", projectId, jobId, turn: Number(turn) };
  if (call === "pull-request/close") return { op: "close", projectId, jobId };
  const op = (["answer", "address", "update", "ask"] as const).find((each) => each === call) ?? "message";
  return { op, projectId, jobId };
}

export function bearer(request: IncomingMessage): string | null {
  return /^Bearer (.+)$/.exec(header(request, "authorization") ?? "")?.[1] ?? null;
}

export function header(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === "string" ? value : null;
}

/** Resolves to the body as text. Null if the caller went away first. */
export async function readSideBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of request) if (chunk instanceof Uint8Array) chunks.push(chunk);
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString("utf8");
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
