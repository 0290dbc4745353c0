import type { FullJob } from "../../shared/contract/job.ts";
import type { Sent } from "../../shared/contract/reading.ts";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { formatDuration } from "../../shared/text/text.ts";
import { LEVEL_KEY, levelOfClient } from "../../shared/contract/level.ts";
import type { ActRequest, CreateJobRequest } from "../../shared/contract/request.ts";
import type { TurnAct, TurnKind } from "../../shared/contract/turn.ts";
import { alreadyUpToDate } from "../config/branches.ts";
import type { Acceptance } from "../jobs/acceptance.ts";
import { ACT_PROMPTS } from "../jobs/acts.ts";
import type { JobRow } from "../jobs/rows.ts";
import { decodeAttachments } from "./bounded-body.ts";
import { HttpFault } from "./http-fault.ts";
import * as routes from "./routes.ts";
import type { ServiceAppDeps } from "./service-app-deps.ts";
import { jobOf, NO_SUCH_JOB, reportOf } from "./shown-job.ts";

/** Adds what gives a job a turn: a create, a message, questions, and acts on the pull request. */
export function addTakingOfRequests(app: OpenAPIHono, deps: ServiceAppDeps): void {
  app.openapi(routes.createJobRoute, async (context) => {
    const { projectId } = context.req.valid("param");
    const job = await accept(deps, projectId, null, context.req.valid("json"), context.req.valid("header"));
    return context.json(job, 201);
  });
  app.openapi(routes.sendMessageRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const job = await accept(deps, projectId, id, context.req.valid("json"), context.req.valid("header"));
    return context.json(job, 200);
  });
  app.openapi(routes.askRoute, async (context) => {
    const { projectId } = context.req.valid("param");
    const asked = { ...context.req.valid("json"), kind: "ask" as const };
    return context.json(await accept(deps, projectId, null, asked, context.req.valid("header")), 201);
  });
  app.openapi(routes.askInJobRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const asked = { ...context.req.valid("json"), kind: "ask" as const };
    return context.json(await accept(deps, projectId, id, asked, context.req.valid("header")), 200);
  });
  app.openapi(routes.addressRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const asked = toAct("address", context.req.valid("json"));
    return context.json(await accept(deps, projectId, id, asked, context.req.valid("header")), 200);
  });
  app.openapi(routes.updateRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const headers = context.req.valid("header");
    await assertBehind(deps, jobOf(deps.store, projectId, id), headers["idempotency-key"]);
    const asked = toAct("update", context.req.valid("json"));
    return context.json(await accept(deps, projectId, id, asked, headers), 200);
  });
}

/**
 * Throws an {@link HttpFault} if the code host says that the branch isn't behind. A request that is
 * repeated is only answered again.
 */
async function assertBehind({ store, isBehind }: ServiceAppDeps, job: JobRow, key: string | undefined) {
  if (key !== undefined && store.wasAnsweredBefore(job.projectId, key)) return;
  const { state, blockedBy } = job.pullRequest ?? {};
  if (state !== "open" || blockedBy === "conflicts" || blockedBy === "behind") return;
  if ((await isBehind(job.id)) !== false) return;
  throw new HttpFault(409, alreadyUpToDate(job.ref));
}

/** A request for a turn. Without a kind, it is a create or a message. */
type TurnAsked = CreateJobRequest & { kind?: TurnKind };

/** Nobody typed the prompt, so none of its words are anybody's. */
function toAct(act: TurnAct, { requester, authors }: ActRequest): TurnAsked {
  return { kind: act, prompt: ACT_PROMPTS[act], requester, authors };
}

/**
 * Accepts a turn for good, and answers with its job. `jobId` is null for a create. Throws an
 * {@link HttpFault} if the turn isn't accepted.
 */
async function accept(
  deps: ServiceAppDeps,
  projectId: string,
  jobId: string | null,
  { kind = "message", prompt, words, requester, authors, attachments = [] }: TurnAsked,
  headers: { "idempotency-key"?: string | undefined; [LEVEL_KEY]?: string | undefined },
): Promise<Sent<typeof FullJob>> {
  const { store, projects, logger } = deps;
  const project = projects.get(projectId);
  if (project === undefined) throw new HttpFault(404, "There is no such project.");
  const idempotencyKey = headers["idempotency-key"] ?? null;
  const who = { words: words ?? null, requester: requester ?? null, authors: authors ?? null };
  const request = { project, jobId, kind, prompt, ...who, idempotencyKey };
  const accepted = await deps.attachments.keep(await decodeAttachments(attachments), (written) =>
    deps.accept({ ...request, attachments: written }),
  );
  if (accepted.kind === "accepted") {
    const { jobId: id, number } = accepted.turn;
    logger.info({ project: projectId, job_id: id, turn: number }, "turn accepted");
  }
  const { record, turn } = unlessRefused(accepted);
  // A repeated request gets the record of the first answer, with its turns as they are now.
  const level = levelOfClient(headers[LEVEL_KEY]);
  return { ...record, ...reportOf(store, jobOf(store, projectId, record.id), level, turn.number) };
}

/** The accepted turn and its job. Throws an {@link HttpFault} if the request was refused. */
function unlessRefused(accepted: Acceptance): Extract<Acceptance, { record: unknown }> {
  if ("record" in accepted) return accepted;
  if (accepted.kind === "not-now") throw new HttpFault(accepted.status, accepted.reason);
  if (accepted.kind !== "limited") {
    const [status, message] = REFUSALS[accepted.kind];
    throw new HttpFault(status, message);
  }
  const seconds = Math.max(1, Math.ceil(accepted.retryAfterMs / 1000));
  const wait = formatDuration(seconds * 1000);
  const headers = { "retry-after": String(seconds) };
  throw new HttpFault(429, `${LIMITS[accepted.limit]}. Try again in ${wait}.`, headers);
}

const REFUSALS = {
  "key-reused": [422, "The Idempotency-Key was used for another request. Send a new one."],
  missing: [404, NO_SUCH_JOB],
  archived: [400, "The job is archived and takes no messages. Create a new one."],
} as const;
const LIMITS = {
  creates: "Too many jobs were created in the last hour",
  messages: "Too many messages were sent in the last hour",
  queued: "Too many turns wait to run",
  attachments: "Too many attachments wait for their turns",
} as const;
