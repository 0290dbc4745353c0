import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type GitHttp = AsyncDisposable & {
  /** Root of the repositories' addresses. */
  readonly url: string;
  /** Method and path with query, in order of arrival. */
  readonly requests: string[];
  /** Answers each request that it takes with that status instead; 0: the connection is cut. */
  fault: ((request: string) => number | undefined) | undefined;
  /** Called before a request is served; it is served when the promise resolves. */
  before: ((request: string) => Promise<void>) | undefined;
};

/** Serves the bare repositories in `root` over `git http-backend`: clone and push, for those who know the password. */
export async function serveGit(root: string, password: string): Promise<GitHttp> {
  const expected = `Basic ${Buffer.from(`x-access-token:${password}`).toString("base64")}`;
  const server = createServer((req, res) => void handle(req, res).catch(() => res.destroy()));

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const request = `${req.method} ${req.url}`;
    git.requests.push(request);
    await git.before?.(request);
    const status = git.fault?.(request);
    if (status === 0) {
      req.socket.destroy();
    } else if (status !== undefined) {
      res.writeHead(status).end("fault");
    } else if (req.headers.authorization !== expected) {
      res.writeHead(401, { "WWW-Authenticate": 'Basic realm="git"' }).end();
    } else {
      await runBackend(root, req, res);
    }
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const git: GitHttp = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    fault: undefined,
    before: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return git;
}

async function runBackend(root: string, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? "/", "http://localhost");
  const backend = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "2",
      GIT_CONFIG_KEY_0: "http.receivepack",
      GIT_CONFIG_VALUE_0: "true",
      GIT_CONFIG_KEY_1: "receive.fsckObjects",
      GIT_CONFIG_VALUE_1: "true",
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: req.method ?? "GET",
      CONTENT_TYPE: req.headers["content-type"] ?? "",
      REMOTE_USER: "x-access-token",
      REMOTE_ADDR: "127.0.0.1",
      ...(req.headers["content-length"] ? { CONTENT_LENGTH: req.headers["content-length"] } : {}),
      ...(req.headers["content-encoding"] ? { HTTP_CONTENT_ENCODING: req.headers["content-encoding"] } : {}),
      ...(req.headers["git-protocol"] ? { GIT_PROTOCOL: String(req.headers["git-protocol"]) } : {}),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  backend.stdin.on("error", () => {});
  req.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  for await (const chunk of backend.stdout) chunks.push(chunk as Buffer);
  const answer = Buffer.concat(chunks);
  const end = answer.indexOf("\r\n\r\n");
  let status = 200;
  for (const line of answer.subarray(0, end).toString("latin1").split("\r\n")) {
    const [name = "", value = ""] = line.split(/:\s*/, 2);
    if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
    else res.setHeader(name, value);
  }
  res.writeHead(status).end(answer.subarray(end + 4));
}
