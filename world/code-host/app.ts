import { Hono } from "hono";
import { messageOf } from "../../src/shared/errors.ts";
import { createGraphql } from "./api/graphql.ts";
import { ApiRefusal, notFound } from "./api/errors.ts";
import { answerRefusal, createApi } from "./api/index.ts";
import type { CallLimits } from "./api/call-limits.ts";
import type { Apps } from "./apps.ts";
import type { Git } from "./git.ts";
import { gitServiceOf, serveGit } from "./git-http.ts";
import type { Host } from "./host.ts";
import { createPages } from "./pages/index.ts";

/** The log of the code host. The product's logger is one. */
export type Log = {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
};

export type CodeHostAppDeps = { host: Host; apps: Apps; git: Git; log: Log; limits: CallLimits };

const API_ROOT = "/api/v3";

/** Makes the code host's routes: git, API and pages. It doesn't listen. */
export function createCodeHostApp({ host, apps, git, log, limits }: CodeHostAppDeps): Hono {
  const app = new Hono();

  app.use(async (context, next) => {
    // A page elsewhere could make its name resolve to this machine. It must not reach this server.
    const asked = new URL(context.req.url).host;
    if (
      asked !== new URL(host.links().url).host &&
      !/^(?:localhost|127\.0\.0\.1|\[::1\])(?::|$)/.test(asked)
    ) {
      return context.text("The code host answers to its own address only\n", 403);
    }
    await next();
  });
  app.use(apps.guard());

  app.on(
    ["GET", "POST"],
    "/:owner/:repo{.+\\.git}/:rest{info/refs|git-upload-pack|git-receive-pack}",
    async (context) => {
      const { owner, repo } = context.req.param();
      const path = `/${context.req.param("rest")}`;
      const pullRequests = host.find(owner, repo.replace(/\.git$/, ""));
      if (!pullRequests) return context.text("No such repository\n", 404);
      const { method, raw } = context.req;
      const service = gitServiceOf(method, path, new URL(raw.url).searchParams);
      if (service === null || (method !== "GET" && method !== "POST")) {
        return context.text("Only git's smart protocol is spoken here\n", 403);
      }
      const caller = host.tokens.caller(context.req.header("authorization"));
      if (caller === "refused" || (caller === "nobody" && service === "git-receive-pack")) {
        return context.text("A token is needed\n", 401, { "www-authenticate": 'Basic realm="code host"' });
      }
      const request = {
        method,
        path,
        service,
        headers: raw.headers,
        body: raw.body,
        signal: raw.signal,
      } as const;
      return serveGit(request, pullRequests.repository, git, async () => {
        if (service !== "git-receive-pack" || method !== "POST") return;
        try {
          await host.followPush(pullRequests);
        } catch (thrown) {
          // The push itself is done. The next push or the next start makes up for this.
          log.error(
            { repository: pullRequests.repository.fullName, error: messageOf(thrown) },
            "push not followed",
          );
        }
      });
    },
  );

  app.route(API_ROOT, apps.routes());
  app.route("/", apps.pages());
  app.route(API_ROOT, createApi(host, limits));
  app.route("/api/graphql", createGraphql(host, limits));
  app.all(`${API_ROOT}/*`, (context) => answerRefusal(context, notFound()));
  app.route("/", createPages(host));

  app.onError((thrown, context) => {
    if (thrown instanceof ApiRefusal) return answerRefusal(context, thrown);
    log.error({ method: context.req.method, error: messageOf(thrown) }, "code host failed");
    if (context.req.path.startsWith(API_ROOT)) {
      return answerRefusal(context, new ApiRefusal(500, "Server Error"));
    }
    return context.text("The code host failed; its log says why\n", 500);
  });
  return app;
}
