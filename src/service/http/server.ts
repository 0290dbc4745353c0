import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { Logger } from "../../shared/machine/ports.ts";
import { LEVEL_KEY, SAID_BY_SERVICE } from "../../shared/contract/level.ts";
import { boundedBody } from "./bounded-body.ts";
import { addChangingOfJobs } from "./change-jobs.ts";
import { HEADERS } from "./described-answers.ts";
import { HttpFault, mustBe } from "./http-fault.ts";
import { addReadingOfJobs } from "./read-jobs.ts";
import * as routes from "./routes.ts";
import type { ServiceAppDeps } from "./service-app-deps.ts";
import { addTakingOfRequests } from "./take-requests.ts";

/**
 * The job service's HTTP interface. It doesn't listen by itself: `fetch` takes a request and
 * answers it.
 */
export function createServiceApp(deps: ServiceAppDeps): OpenAPIHono {
  const app = new OpenAPIHono({
    defaultHook: (result) => {
      if (!result.success) throw new HttpFault(400, describe(result.error.issues));
    },
  });
  addComponents(app);
  addFaults(app, deps);
  // Before what guards the API of clients, because it has guards of its own.
  app.route("/", deps.runnerApi);
  addGuards(app, deps);
  addWebhooks(app, deps);
  addTakingOfRequests(app, deps);
  addReadingOfJobs(app, deps);
  addChangingOfJobs(app, deps);
  addHealth(app, deps);
  addDescription(app, deps);
  return app;
}

/** Adds what the API's description names once and refers to. */
function addComponents({ openAPIRegistry }: OpenAPIHono): void {
  openAPIRegistry.registerComponent("securitySchemes", "adminKey", {
    type: "http",
    scheme: "bearer",
    description: "An admin key of the project. It stays on the server.",
  });
  for (const [name, header] of Object.entries(HEADERS)) {
    openAPIRegistry.registerComponent("headers", name, header);
  }
}

/** Answers whatever is thrown, and requests for which there is nothing. */
function addFaults(app: OpenAPIHono, { logger }: ServiceAppDeps): void {
  app.onError((thrown, context) => answerFault(context, toFault(thrown, logger)));
  app.notFound((context) => answerFault(context, new HttpFault(404, "There is nothing at this address.")));
}

/** Adds what happens with every request, in this order. */
function addGuards(app: OpenAPIHono, deps: ServiceAppDeps): void {
  const { clock, logger } = deps;
  app.use(async (context, next) => {
    const startMs = clock.now();
    for (const [name, value] of Object.entries(ALWAYS)) context.header(name, value);
    await next();
    const { method } = context.req;
    logger.debug({ method, status: context.res.status, ms: clock.now() - startMs }, "request answered");
  });
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }));
  // Checked before anything else of the request is read. Other addresses need no key.
  app.use("/v2/agent/:projectId/*", async (context, next) => {
    authorize(deps, context.req.header("authorization"), context.req.param("projectId"));
    await next();
  });
  app.use(boundedBody());
}

/** Sent with every answer. */
const ALWAYS = {
  "cache-control": "no-store",
  [LEVEL_KEY]: SAID_BY_SERVICE.join(", "),
  "x-content-type-options": "nosniff",
};

/** Throws an {@link HttpFault} unless an `Authorization` header carries a key of the project. */
function authorize(deps: ServiceAppDeps, header: string | undefined, projectId: string): void {
  const key = /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1];
  const allowed = key === undefined ? null : deps.checkKey(key);
  if (allowed === null) {
    const want =
      key === undefined ? "Send an admin key: Authorization: Bearer <key>" : "The admin key isn't known.";
    throw new HttpFault(401, want, { "www-authenticate": "Bearer" });
  }
  if (!deps.projects.has(projectId)) throw new HttpFault(404, "There is no such project.");
  if (allowed !== projectId) throw new HttpFault(403, "The admin key belongs to another project.");
}

/** Adds the address that a code host calls when something has happened there. */
function addWebhooks(app: OpenAPIHono, { takeWebhook }: ServiceAppDeps): void {
  app.post("/webhooks/:projectId", async (context) => {
    const signature = context.req.header("x-hub-signature-256") ?? "";
    const { projectId } = context.req.param();
    const result = await takeWebhook(projectId, signature, await context.req.text());
    if (result === "absent") throw new HttpFault(404, "There is nothing at this address.");
    if (result === "forged") throw new HttpFault(401, "The signature doesn't match the webhook's secret.");
    return context.json({ result }, 200);
  });
}

/** Adds what a supervisor asks. */
function addHealth(app: OpenAPIHono, { ready, logger }: ServiceAppDeps): void {
  app.openapi(routes.healthRoute, (context) => context.json({ status: "ok" as const }, 200));
  app.openapi(routes.readinessRoute, async (context) => {
    try {
      return context.json({ status: "ok" as const, tasks: await ready() }, 200);
    } catch (thrown) {
      logger.error({ err: thrown }, "not ready");
      return context.json({ status: "unavailable" as const, tasks: null }, 503);
    }
  });
}

/** Adds the API's description, of the operations that were added before. */
function addDescription(app: OpenAPIHono, { publicBaseUrl }: ServiceAppDeps): void {
  // Created once, because that takes as long as many other answers and nobody needs a key for it.
  let description: string | undefined;
  app.get("/openapi.json", (context) => {
    description ??= JSON.stringify(app.getOpenAPI31Document(aboutService(publicBaseUrl)));
    return context.body(description, 200, { "content-type": "application/json" });
  });
}

/**
 * What `/openapi.json` says about the whole service. If the settings have no address, it is the
 * document's own.
 */
function aboutService(publicBaseUrl: string | null) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Docs Agent job service",
      version: "2",
      description:
        "Runs a coding agent in a checkout of a documentation repository and opens the pull request.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: publicBaseUrl ?? "/" }],
  };
}

function describe(issues: readonly { code: string; path: PropertyKey[]; message: string }[]): string {
  const faults = issues.map(({ code, path, message }) => {
    const field = path.map(String).join(".");
    if (field !== "") return mustBe(field, message);
    // If a body can have one of several forms, our own message names them.
    return mustBe("The body", code === "invalid_union" ? message : "a JSON object with prompt");
  });
  return [...new Set(faults)].join(" ");
}

/** Converts anything thrown to an answer for the client. Unexpected errors go to the log only. */
function toFault(thrown: unknown, logger: Logger): HttpFault {
  if (thrown instanceof HttpFault) return thrown;
  if (thrown instanceof HTTPException) {
    if (thrown.status === 415) return new HttpFault(415, "Send JSON, with Content-Type: application/json.");
    if (thrown.status === 400) return new HttpFault(400, mustBe("The body", "valid JSON"));
  }
  logger.error({ err: thrown }, "request failed");
  const want = "Try again later. Repeat a create or a message with the same Idempotency-Key.";
  return new HttpFault(500, `The service failed. ${want}`);
}

function refuseMethod(context: Context, methods: readonly string[]): Response {
  const want = `Use ${methods.join(" or ")} at this address.`;
  return answerFault(context, new HttpFault(405, want, { allow: methods.join(", ") }));
}

function answerFault(context: Context, fault: HttpFault): Response {
  return context.json({ error: fault.message }, fault.status, { ...fault.headers });
}
