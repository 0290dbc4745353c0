import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type FakePull = {
  number: number;
  title: string;
  body: string;
  state: "open" | "closed";
  merged_at: string | null;
  html_url: string;
  head: { ref: string; sha: string };
  base: { ref: string };
};

type Fault = { status: number; headers?: Record<string, string>; body?: string } | "cut" | "cut after effect";

export type GitHubApi = AsyncDisposable & {
  readonly url: string;
  readonly pulls: FakePull[];
  readonly requests: string[];
  fault: ((request: string) => Fault | undefined) | undefined;
};

/** The part of GitHub's REST API for pull requests that the runner uses, for one repository. `tipOf` knows the branches. */
export async function serveGitHubApi(
  token: string,
  tipOf: (branch: string) => Promise<string>,
): Promise<GitHubApi> {
  const server = createServer(
    (req, res) => void handle(req, res).catch((error) => answer(res, 500, { message: String(error) })),
  );

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? "/", "http://localhost");
    const request = `${req.method} ${url.pathname}`;
    api.requests.push(request);
    let text = "";
    for await (const chunk of req) text += String(chunk);
    const fault = api.fault?.(request);
    if (fault === "cut") return void req.socket.destroy();
    if (fault !== undefined && fault !== "cut after effect") {
      return void res.writeHead(fault.status, fault.headers).end(fault.body ?? '{"message":"fault"}');
    }
    const [status, body] =
      req.headers.authorization === `token ${token}`
        ? await act(
            request,
            url,
            text === "" ? {} : (JSON.parse(text) as Partial<FakePull> & { head?: unknown; base?: unknown }),
          )
        : [401, { message: "Bad credentials" }];
    if (fault === "cut after effect") return void req.socket.destroy();
    answer(res, status as number, body);
  }

  async function act(request: string, url: URL, body: Record<string, unknown>): Promise<[number, unknown]> {
    const number = Number(/\/pulls\/(\d+)$/.exec(url.pathname)?.[1]);
    const known = api.pulls.find((pull) => pull.number === number);
    if (known && request.startsWith("PATCH")) {
      if (typeof body["body"] === "string") known.body = body["body"];
      return [200, known];
    }
    if (url.pathname !== "/repos/acme/docs/pulls") return [404, { message: "Not Found" }];
    if (request.startsWith("GET")) {
      const head = url.searchParams.get("head")?.split(":")[1];
      const found = api.pulls.filter((pull) => pull.head.ref === head);
      for (const pull of found) if (pull.state === "open") pull.head.sha = await tipOf(pull.head.ref);
      return [200, found.toReversed()];
    }
    const ref = String(body["head"]);
    if (api.pulls.some((pull) => pull.head.ref === ref && pull.state === "open")) {
      return [
        422,
        {
          message: "Validation Failed",
          errors: [{ message: `A pull request already exists for acme:${ref}.` }],
        },
      ];
    }
    const next = api.pulls.length + 1;
    const pull: FakePull = {
      number: next,
      title: String(body["title"]),
      body: String(body["body"]),
      state: "open",
      merged_at: null,
      html_url: `https://github.example/acme/docs/pull/${next}`,
      head: { ref, sha: await tipOf(ref) },
      base: { ref: String(body["base"]) },
    };
    api.pulls.push(pull);
    return [201, pull];
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const api: GitHubApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pulls: [],
    requests: [],
    fault: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return api;
}

function answer(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "Content-Type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
}
