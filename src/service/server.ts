import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { TaskCounts } from "../core/task-queue.ts";
import { CAPABILITIES_HEADER } from "../job-client/capabilities.ts";
import type { WireJobRecord } from "../job-client/schema.ts";
import { boundedBody } from "./bounded-body.ts";
import type { ServiceProject } from "./config.ts";
import { HttpFault } from "./http-fault.ts";
import type { Acceptance, TurnKey } from "./jobs/acceptance.ts";
import { toRecord } from "./jobs/job.ts";
import type { JobStore } from "./jobs/job-store.ts";
import type { KeyCheck } from "./keys.ts";
import {
  CAPABILITIES,
  createJobRoute,
  getJobRoute,
  healthRoute,
  MAX_BODY_BYTES,
  readinessRoute,
  sendMessageRoute,
} from "./routes.ts";

export type ServiceAppDeps = {
  /** By id. */
  projects: ReadonlyMap<string, ServiceProject>;
  store: JobStore;
  checkKey: KeyCheck;
  /** Called once a turn is durable, to have it run soon. */
  onAccepted: (turn: TurnKey) => void;
  /** Rejects while nothing can be accepted. */
  ready: () => Promise<TaskCounts>;
  clock: Clock;
  logger: Logger;
  publicBaseUrl: string | null;
};

/** The job service's HTTP side, which listens to nothing: `fetch` takes a request and answers it. */
export function createServiceApp(deps: ServiceAppDeps): OpenAPIHono {
  const { store, clock, projects } = deps;
  const app = new OpenAPIHono({
    defaultHook: (result) => {
      if (!result.success) throw new HttpFault(400, describe(result.error.issues));
    },
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "adminKey", {
    type: "http",
    scheme: "bearer",
    description: "An admin key of the project. It stays on the server.",
  });

  app.onError((thrown, context) => answerFault(context, toFault(thrown, deps.logger)));
  app.notFound((context) => answerFault(context, new HttpFault(404, "There is nothing at this address")));
  app.use(logged(deps));
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (context, methods) =>
        answerFault(
          context,
          new HttpFault(405, `Use ${methods.join(" or ")} at this address`, { allow: methods.join(", ") }),
        ),
    }),
  );
  // Before anything else of the request is looked at.
  app.use("/v2/agent/:projectId/*", async (context, next) => {
    authorize(deps, context.req.header("authorization"), context.req.param("projectId"));
    await next();
  });
  app.use(boundedBody(MAX_BODY_BYTES));

  function accept(
    projectId: string,
    jobId: string | null,
    prompt: string,
    key: string | undefined,
  ): WireJobRecord {
    const project = projects.get(projectId);
    if (project === undefined) throw new HttpFault(404, "There is no such project");
    const request = { project, jobId, prompt, idempotencyKey: key ?? null };
    const accepted = store.accept(request, clock.now());
    if (accepted.kind === "accepted") {
      const { jobId: id, number } = accepted.turn;
      deps.logger.info({ project: projectId, job_id: id, turn: number }, "turn accepted");
      deps.onAccepted(accepted.turn);
    }
    return recordOf(accepted);
  }

  app.openapi(createJobRoute, (context) => {
    const { projectId } = context.req.valid("param");
    const key = context.req.valid("header")["idempotency-key"];
    return context.json(accept(projectId, null, context.req.valid("json").prompt, key), 201);
  });
  app.openapi(getJobRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    const job = store.job(id);
    if (job === null || job.projectId !== projectId) throw new HttpFault(404, NO_SUCH_JOB);
    return context.json(toRecord(job), 200);
  });
  app.openapi(sendMessageRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    const key = context.req.valid("header")["idempotency-key"];
    return context.json(accept(projectId, id, context.req.valid("json").prompt, key), 200);
  });
  app.openapi(healthRoute, (context) => context.json({ status: "ok" as const }, 200));
  app.openapi(readinessRoute, async (context) => {
    try {
      return context.json({ status: "ok" as const, tasks: await deps.ready() }, 200);
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "not ready");
      return context.json({ status: "unavailable" as const, tasks: null }, 503);
    }
  });
  app.doc31("/openapi.json", {
    openapi: "3.1.0",
    info: { title: "Docs Agent job service", version: "2" },
    ...(deps.publicBaseUrl === null ? {} : { servers: [{ url: deps.publicBaseUrl }] }),
  });
  return app;
}

const NO_SUCH_JOB = "There is no such job in this project";
const LIMITS = {
  creates: "Too many jobs were created in the last hour",
  messages: "Too many messages were sent in the last hour",
  queued: "Too many turns wait to run",
} as const;

function authorize(deps: ServiceAppDeps, header: string | undefined, projectId: string): void {
  const key = /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1];
  const keysProject = key === undefined ? null : deps.checkKey(key);
  if (keysProject === null) {
    const want =
      key === undefined ? "Send an admin key: Authorization: Bearer <key>" : "The admin key is not known";
    throw new HttpFault(401, want, { "www-authenticate": "Bearer" });
  }
  if (!deps.projects.has(projectId)) throw new HttpFault(404, "There is no such project");
  if (keysProject !== projectId) throw new HttpFault(403, "The admin key is another project's");
}

function recordOf(accepted: Acceptance): WireJobRecord {
  switch (accepted.kind) {
    case "accepted":
    case "repeated":
      return accepted.record;
    case "key-reused":
      throw new HttpFault(422, "The Idempotency-Key was used for another request: send a new one");
    case "missing":
      throw new HttpFault(404, NO_SUCH_JOB);
    case "archived":
      throw new HttpFault(400, "The job is archived and takes no messages: create a new one");
    case "limited": {
      const seconds = Math.max(1, Math.ceil(accepted.retryAfterMs / 1000));
      throw new HttpFault(429, `${LIMITS[accepted.limit]}: try again in ${seconds} s`, {
        "retry-after": String(seconds),
      });
    }
    default:
      return accepted satisfies never;
  }
}

function describe(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const faults = issues.map(({ path, message }) => {
    const field = path.map(String).join(".");
    return field === "" ? "the body: put a JSON object with prompt" : `${field}: ${message}`;
  });
  return [...new Set(faults)].join("; ");
}

/** What any thrown thing is to the client. What nobody foresaw goes to the log and not to the client. */
function toFault(thrown: unknown, logger: Logger): HttpFault {
  if (thrown instanceof HttpFault) return thrown;
  if (thrown instanceof HTTPException) {
    if (thrown.status === 415) return new HttpFault(415, "Send JSON, with Content-Type: application/json");
    if (thrown.status === 400) return new HttpFault(400, "the body: put valid JSON");
  }
  logger.error({ err: thrown }, "request failed");
  return new HttpFault(500, "The service failed. Try again later, with the same Idempotency-Key");
}

function answerFault(context: Context, fault: HttpFault): Response {
  return context.json({ error: fault.message }, fault.status, { ...fault.headers });
}

function logged({ logger, clock }: ServiceAppDeps) {
  return async (context: Context, next: () => Promise<void>): Promise<void> => {
    const startMs = clock.now();
    await next();
    context.header("cache-control", "no-store");
    context.header(CAPABILITIES_HEADER, CAPABILITIES);
    context.header("x-content-type-options", "nosniff");
    const { method } = context.req;
    logger.debug({ method, status: context.res.status, ms: clock.now() - startMs }, "request answered");
  };
}
