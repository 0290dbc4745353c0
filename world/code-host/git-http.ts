import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Git } from "./git.ts";
import type { Repository } from "./repository.ts";

const TIMEOUT_MS = 120_000;
const MAX_REQUEST_BYTES = 256 * 1024 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;

export type GitService = "git-upload-pack" | "git-receive-pack";

export type GitRequest = {
  method: "GET" | "POST";
  /** The path below the repository: `/info/refs`, `/git-upload-pack` or `/git-receive-pack`. */
  path: string;
  service: GitService;
  headers: Headers;
  body: Request["body"];
  signal: AbortSignal;
};

/**
 * Returns what a git request asks for. Null if it isn't known or allowed, such as a request for the
 * "dumb" protocol's files.
 */
export function gitServiceOf(method: string, path: string, query: URLSearchParams): GitService | null {
  const asked = path === "/info/refs" ? query.get("service") : path.slice(1);
  if (asked !== "git-upload-pack" && asked !== "git-receive-pack") return null;
  return method === (path === "/info/refs" ? "GET" : "POST") ? asked : null;
}

/**
 * Answers one smart HTTP request through git's own CGI program and streams both ways. `finished` is
 * awaited before the answer ends, so the effects of a push are there when the caller goes on.
 */
export async function serveGit(
  request: GitRequest,
  repository: Repository,
  git: Git,
  finished: () => Promise<void>,
): Promise<Response> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding !== "gzip" && encoding !== "x-gzip") {
    return new Response("Only gzip is understood\n", { status: 415 });
  }
  const child = spawn(await git.httpBackend(), [], {
    env: cgiEnvironment(request, repository, git),
    stdio: ["pipe", "pipe", "ignore"],
  });
  const limit = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  const abort = (): boolean => child.kill("SIGKILL");
  request.signal.addEventListener("abort", abort, { once: true });
  const gone = once(child, "close").finally(() => {
    clearTimeout(limit);
    request.signal.removeEventListener("abort", abort);
  });
  // It is awaited at the end of the answer. Until then, a failure to start must not count as
  // unhandled.
  gone.catch(() => {});
  void feed(child, request.body);
  return answerOf(child, async () => {
    await gone;
    await finished();
  });
}

function cgiEnvironment(request: GitRequest, repository: Repository, git: Git): Record<string, string> {
  const isPush = request.service === "git-receive-pack";
  const version = request.headers.get("git-protocol") ?? "";
  const length = request.headers.get("content-length") ?? "";
  return {
    ...git.environment({
      "http.receivepack": String(isPush),
      // The refs `refs/pull/…` belong to the code host.
      "receive.hideRefs": "refs/pull",
      "receive.fsckObjects": "true",
      "receive.denyDeleteCurrent": "true",
    }),
    GIT_PROJECT_ROOT: repository.path,
    GIT_HTTP_EXPORT_ALL: "1",
    PATH_INFO: request.path,
    REQUEST_METHOD: request.method,
    QUERY_STRING: request.method === "GET" ? `service=${request.service}` : "",
    CONTENT_TYPE: request.headers.get("content-type") ?? "",
    HTTP_CONTENT_ENCODING: request.headers.get("content-encoding") ?? "",
    REMOTE_USER: isPush ? "writer" : "",
    REMOTE_ADDR: "127.0.0.1",
    ...(/^\d{1,12}$/.test(length) ? { CONTENT_LENGTH: length } : {}),
    ...(/^version=[0-2]$/.test(version) ? { GIT_PROTOCOL: version } : {}),
  };
}

async function feed(child: ChildProcess, body: GitRequest["body"]): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  if (body === null) {
    stdin.on("error", () => {});
    stdin.end();
    return;
  }
  let bytes = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(bytes > MAX_REQUEST_BYTES ? new Error("The request is too large") : null, chunk);
    },
  });
  try {
    await pipeline(Readable.fromWeb(body), bounded, stdin);
  } catch {
    // If git ended before the body did, its answer says why. If the body broke off, there is
    // nothing to do.
    if (bytes > MAX_REQUEST_BYTES) child.kill("SIGKILL");
  }
}

async function answerOf(child: ChildProcess, ended: () => Promise<void>): Promise<Response> {
  const { stdout } = child;
  if (!stdout) return new Response("git did not start\n", { status: 500 });
  const chunks: AsyncIterator<Buffer> = stdout[Symbol.asyncIterator]();
  let seen = Buffer.alloc(0);
  let end = -1;
  while (end < 0 && seen.length < MAX_HEADER_BYTES) {
    const next = await chunks.next();
    if (next.done === true) break;
    seen = Buffer.concat([seen, next.value]);
    end = seen.indexOf("\r\n\r\n");
  }
  if (end < 0) {
    child.kill("SIGKILL");
    await ended().catch(() => {});
    return new Response("git gave no answer\n", { status: 502 });
  }
  const { status, headers } = parseCgiHeaders(seen.subarray(0, end).toString("latin1"));
  const rest = seen.subarray(end + 4);

  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      if (rest.length > 0) yield rest;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
      await ended();
    } finally {
      // This does nothing after the end. If the client went away, it stops git.
      child.kill("SIGKILL");
    }
  }
  return new Response(ReadableStream.from(body()), { status, headers });
}

/** Reads the headers of a CGI program. Without a status, it means 200. */
function parseCgiHeaders(block: string): { status: number; headers: Headers } {
  const headers = new Headers({ "cache-control": "no-cache" });
  let status = 200;
  for (const line of block.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === "status") status = Number.parseInt(value, 10) || 500;
    else headers.set(name, value);
  }
  return { status, headers };
}
