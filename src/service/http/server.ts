import { isDeepStrictEqual } from "node:util";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { Logger } from "../../shared/machine/ports.ts";
import { formatDuration } from "../../shared/text/text.ts";
import type { TaskCounts } from "../../shared/queue/task-queue.ts";
import {
  CAPABILITIES_HEADER,
  type CreateJobRequest,
  parseCapabilities,
  type WireJob,
} from "../../shared/contract/schema.ts";
import { boundedBody, decodeAttachments } from "./bounded-body.ts";
import { HttpFault, mustBe } from "./http-fault.ts";
import type { Acceptance, TurnRequest } from "../jobs/acceptance.ts";
import { type StoredJob, type StoredQuestion, toRecord } from "../jobs/job.ts";
import type { RunnerDesk } from "../jobs/runner-access.ts";
import { LIST_START, parseCursor, toCursor, toWireQuestion, toWireTurn } from "../jobs/report.ts";
import type { KeyCheck } from "../jobs/keys.ts";
import * as routes from "./routes.ts";
import type { ServiceTaskDeps } from "../jobs/run-job.ts";
import type { QuestionAnswer } from "../../shared/contract/job.ts";

export type ServiceAppDeps = Omit<ServiceTaskDeps, "slots" | "watch" | "runner"> & {
  checkKey: KeyCheck;
  /** Accepts a request. When this resolves, an accepted one is durable and will run soon. */
  accept: (request: TurnRequest) => Promise<Acceptance>;
  /**
   * Called after turns of a job were ended, so that their agents stop and the next turn runs soon.
   */
  onEnded: (jobId: string) => void;
  desk: RunnerDesk;
  /** Finds out soon how a job's pull request stands. */
  lookAtPull: (jobId: string) => Promise<void>;
  /** Takes a webhook of the code host's, with the signature of its body. */
  takeWebhook: (
    projectId: string,
    signature: string,
    body: string,
  ) => Promise<"taken" | "ignored" | "forged" | "absent">;
  /** Rejects while no requests can be accepted. */
  ready: () => Promise<TaskCounts>;
  publicBaseUrl: string | null;
};

/**
 * The job service's HTTP interface. It doesn't listen by itself: `fetch` takes a request and
 * answers it.
 */
export function createServiceApp(deps: ServiceAppDeps): OpenAPIHono {
  const { store, projects, clock, logger } = deps;
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

  for (const [name, header] of Object.entries(routes.HEADERS)) {
    app.openAPIRegistry.registerComponent("headers", name, header);
  }

  app.onError((thrown, context) => answerFault(context, toFault(thrown, logger)));
  app.notFound((context) => answerFault(context, new HttpFault(404, "There is nothing at this address.")));
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

  app.post("/webhooks/:projectId", async (context) => {
    const signature = context.req.header("x-hub-signature-256") ?? "";
    const { projectId } = context.req.param();
    const result = await deps.takeWebhook(projectId, signature, await context.req.text());
    if (result === "absent") throw new HttpFault(404, "There is nothing at this address.");
    if (result === "forged") throw new HttpFault(401, "The signature doesn't match the webhook's secret.");
    return context.json({ result }, 200);
  });

  function jobOf(projectId: string, id: string): StoredJob {
    const job = store.job(id);
    if (job === null || job.projectId !== projectId) throw new HttpFault(404, NO_SUCH_JOB);
    return job;
  }

  /** The fields beyond the contract that the client reads. `upTo` is the newest turn to show. */
  function report({ id, pullRequest }: StoredJob, wanted: readonly string[], upTo?: number) {
    return {
      ...(wanted.includes("pull-request") && { pullRequest }),
      ...(wanted.includes("turns") && { turns: store.shownTurns(id, upTo).map(toWireTurn) }),
      ...(wanted.includes("questions") && { questions: store.questions.shown(id).map(toWireQuestion) }),
    };
  }

  /** A job's record with the fields that the client reads. */
  function shown(job: StoredJob, wanted: readonly string[]): WireJob {
    return { ...toRecord(job), ...report(job, wanted) };
  }

  /** The project's job with all fields beyond the contract. */
  function fullJob(projectId: string, id: string): WireJob {
    return shown(jobOf(projectId, id), ["turns", "questions", "pull-request"]);
  }

  async function accept(
    projectId: string,
    jobId: string | null,
    { prompt, words, requester, authors, attachments = [] }: CreateJobRequest,
    headers: { "idempotency-key"?: string | undefined; [READS]?: string | undefined },
  ): Promise<WireJob> {
    const project = projects.get(projectId);
    if (project === undefined) throw new HttpFault(404, "There is no such project.");
    const idempotencyKey = headers["idempotency-key"] ?? null;
    const who = { words: words ?? null, requester: requester ?? null, authors: authors ?? null };
    const request = { project, jobId, prompt, ...who, idempotencyKey };
    const accepted = await deps.attachments.keep(await decodeAttachments(attachments), (written) =>
      deps.accept({ ...request, attachments: written }),
    );
    if (accepted.kind === "accepted") {
      const { jobId: id, number } = accepted.turn;
      logger.info({ project: projectId, job_id: id, turn: number }, "turn accepted");
    }
    const { record, turn } = unlessRefused(accepted);
    // A repeated request gets the record of the first answer, with its turns as they are now.
    const wanted = parseCapabilities(headers[READS]);
    return { ...record, ...report(jobOf(projectId, record.id), wanted, turn.number) };
  }

  app.openapi(routes.createJobRoute, async (context) => {
    const { projectId } = context.req.valid("param");
    const job = await accept(projectId, null, context.req.valid("json"), context.req.valid("header"));
    return context.json(job, 201);
  });
  // This route isn't validated, because nothing in its request can be invalid and validating takes
  // as long as answering.
  app.openAPIRegistry.registerPath(routes.getJobRoute);
  app.get(routes.getJobRoute.getRoutingPath(), (context) => {
    const { projectId, id } = context.req.param();
    const wanted = parseCapabilities(context.req.header(READS));
    return context.json(shown(jobOf(projectId, id), wanted));
  });
  app.openapi(routes.changesRoute, async (context) => {
    const { projectId } = context.req.valid("param");
    const { after, wait } = context.req.valid("query");
    const { changes } = store;
    if (after === undefined) return context.json({ jobs: [], next: changes.toCursor() }, 200);
    const from = changes.parseCursor(after);
    if (from === null)
      throw new HttpFault(410, "The cursor isn't known. Begin without one, and read your jobs.");
    const { signal } = context.req.raw;
    if (!(await changes.wait(projectId, from, { clock, forMs: wait * 1000, signal }))) {
      throw new HttpFault(429, "Too many requests wait for changes.", { "retry-after": "5" });
    }
    const wanted = parseCapabilities(context.req.header(READS));
    const jobs: WireJob[] = [];
    let next = from;
    let bytes = 0;
    for (const { changed, ...job } of changes.after(projectId, from, MAX_CHANGED)) {
      const shownJob = shown(job, wanted);
      bytes += Buffer.byteLength(JSON.stringify(shownJob));
      if (jobs.length > 0 && bytes > MAX_CHANGES_BYTES) break;
      jobs.push(shownJob);
      next = changed;
    }
    return context.json({ jobs, next: changes.toCursor(next) }, 200);
  });
  app.openapi(routes.sendMessageRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const job = await accept(projectId, id, context.req.valid("json"), context.req.valid("header"));
    return context.json(job, 200);
  });

  app.openapi(routes.listJobsRoute, (context) => {
    const { projectId } = context.req.valid("param");
    const { status, after, limit } = context.req.valid("query");
    const place = after === undefined ? LIST_START : parseCursor(after);
    if (place === null) throw new HttpFault(400, mustBe("after", routes.WANT_AFTER));
    const { jobs, next } = store.page(projectId, place, status ?? null, limit);
    const wanted = parseCapabilities(context.req.header(READS)).filter((each) => each === "pull-request");
    const listed = jobs.map((job) => shown(job, wanted));
    return context.json({ jobs: listed, next: next === null ? null : toCursor(next) }, 200);
  });

  app.openapi(routes.cancelTurnRoute, (context) => {
    const { projectId, id, number } = context.req.valid("param");
    const turn = { jobId: jobOf(projectId, id).id, number };
    if (store.turn(turn) === null) throw new HttpFault(404, "There is no such turn of this job.");
    if (store.cancel(turn, clock.now())) {
      logger.info({ project: projectId, job_id: id, turn: number }, "turn canceled");
      deps.onEnded(id);
    }
    return context.json(fullJob(projectId, id), 200);
  });

  app.openapi(routes.archiveJobRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    jobOf(projectId, id);
    if (store.archive(id, clock.now())) {
      logger.info({ project: projectId, job_id: id }, "job archived");
      deps.onEnded(id);
    }
    return context.json(fullJob(projectId, id), 200);
  });

  app.openapi(routes.readDiffRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const diff = await deps.desk.readDiff(jobOf(projectId, id));
    if (diff === null) throw new HttpFault(404, "The job changes nothing that can be found.");
    if (diff === "busy") throw new HttpFault(503, "Try again in 5 s.", { "retry-after": "5" });
    return context.json(diff, 200);
  });

  app.openapi(routes.closePullRequestRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const became = await deps.desk.closePull(jobOf(projectId, id));
    if (became === "busy") throw new HttpFault(503, "Try again in 5 s.", { "retry-after": "5" });
    if (became === "closed" || became === "merged") await deps.lookAtPull(id);
    if (became !== "closed") {
      const [status, why] = NOT_CLOSED[became];
      throw new HttpFault(status, why);
    }
    logger.info({ project: projectId, job_id: id }, "pull request closed");
    return context.json(fullJob(projectId, id), 200);
  });

  app.openapi(routes.answerQuestionRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    jobOf(projectId, id);
    const { questionId, ...answer } = context.req.valid("json");
    const question = store.questions.question(id, questionId);
    if (question === null)
      throw new HttpFault(404, "There is no such question, or nobody waits for its answer.");
    assertFits(answer, question);
    if (store.questions.answer(question, answer, clock.now())) {
      logger.info({ project: projectId, job_id: id, question: questionId }, "question answered");
      deps.questions.answered(questionId, answer);
    } else if (!isDeepStrictEqual(answer, store.questions.question(id, questionId)?.answer)) {
      throw new HttpFault(409, "The question was already answered.");
    }
    return context.json(fullJob(projectId, id), 200);
  });

  app.openapi(routes.healthRoute, (context) => context.json({ status: "ok" as const }, 200));
  app.openapi(routes.readinessRoute, async (context) => {
    try {
      return context.json({ status: "ok" as const, tasks: await deps.ready() }, 200);
    } catch (thrown) {
      logger.error({ err: thrown }, "not ready");
      return context.json({ status: "unavailable" as const, tasks: null }, 503);
    }
  });
  // Created once, because that takes as long as many other answers and nobody needs a key for it.
  let description: string | undefined;
  app.get("/openapi.json", (context) => {
    description ??= JSON.stringify(app.getOpenAPI31Document(routes.aboutService(deps.publicBaseUrl)));
    return context.body(description, 200, { "content-type": "application/json" });
  });

  return app;
}

/**
 * The most jobs in an answer of the feed. Its size is limited, too, unless a single job is larger.
 * A client reads 1 MiB.
 */
const MAX_CHANGED = 50;
const MAX_CHANGES_BYTES = 512 * 1024;
const READS = "docs-agent-capabilities";
/** Sent with every answer. */
const ALWAYS = {
  "cache-control": "no-store",
  [CAPABILITIES_HEADER.toLowerCase()]: routes.CAPABILITIES,
  "x-content-type-options": "nosniff",
};
const NO_SUCH_JOB = "There is no such job in this project.";
const REFUSALS = {
  "key-reused": [422, "The Idempotency-Key was used for another request. Send a new one."],
  missing: [404, NO_SUCH_JOB],
  archived: [400, "The job is archived and takes no messages. Create a new one."],
} as const;
const NOT_CLOSED = {
  missing: [404, "The job has no pull request."],
  merged: [409, "The pull request was merged."],
  changed: [409, "The pull request changes something again."],
  working: [409, "The agent is working on a follow-up."],
} as const;
const LIMITS = {
  creates: "Too many jobs were created in the last hour",
  messages: "Too many messages were sent in the last hour",
  queued: "Too many turns wait to run",
  attachments: "Too many attachments wait for their turns",
} as const;

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

function unlessRefused(accepted: Acceptance): Extract<Acceptance, { record: unknown }> {
  if ("record" in accepted) return accepted;
  if (accepted.kind !== "limited") {
    const [status, message] = REFUSALS[accepted.kind];
    throw new HttpFault(status, message);
  }
  const seconds = Math.max(1, Math.ceil(accepted.retryAfterMs / 1000));
  const wait = formatDuration(seconds * 1000);
  const headers = { "retry-after": String(seconds) };
  throw new HttpFault(429, `${LIMITS[accepted.limit]}. Try again in ${wait}.`, headers);
}

function assertFits(answer: QuestionAnswer, { choices, allowsText }: StoredQuestion): void {
  if ("choice" in answer) {
    if (choices.some(({ id }) => id === answer.choice)) return;
    throw new HttpFault(400, mustBe("choice", "the id of one of the question's choices"));
  }
  if (!allowsText)
    throw new HttpFault(400, "This question takes only a choice. Send choice instead of text.");
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
