import { createServer } from "node:http";
import { expect, it } from "vitest";
import { issuesFrom } from "../../eval/mine/issues.ts";
import { closeNow, listenOnLoopback } from "../../world/loopback-server.ts";

it("asks GitHub's API for issues, once each, with the token", async () => {
  const asked: [string | undefined, string | undefined][] = [];
  const server = createServer((request, response) => {
    asked.push([request.url, request.headers.authorization]);
    if (request.url === "/repos/acme/docs/issues/7")
      response.end(JSON.stringify({ number: 7, title: "Wrong port", body: null }));
    else if (request.url === "/repos/acme/docs/issues/8")
      response.end(JSON.stringify({ number: 8, title: "Fix the port", body: "Fixes #7", pull_request: {} }));
    else response.writeHead(request.url?.endsWith("/9") === true ? 404 : 403).end("{}");
  });
  const port = await listenOnLoopback(server, 0);
  try {
    const env = { GITHUB_API_URL: `http://127.0.0.1:${port}/`, GITHUB_TOKEN: "t0ken" };
    const issues = await issuesFrom("acme/docs", env);
    expect(await issues(7, "")).toEqual({ title: "Wrong port", body: null, isPull: false });
    expect(await issues(7, "acme/docs")).toMatchObject({ title: "Wrong port" });
    expect(await issues(7, "acme/core")).toBeNull();
    expect(await issues(8, "")).toMatchObject({ isPull: true });
    expect(await issues(9, "")).toBeNull();
    await expect(issues(10, "")).rejects.toThrow(/answers 403/);
    expect(asked.map(([url]) => url)).toEqual([7, 8, 9, 10].map((n) => `/repos/acme/docs/issues/${n}`));
    expect(asked.every(([, authorization]) => authorization === "Bearer t0ken")).toBe(true);
  } finally {
    await closeNow(server);
  }
});
