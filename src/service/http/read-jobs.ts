import type { FullJob } from "../../shared/contract/job.ts";
import type { Sent } from "../../shared/contract/reading.ts";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { WaitingReviews } from "../../shared/contract/waiting-reviews.ts";
import { waitingReviews } from "../jobs/waiting-reviews.ts";
import { LEVEL_KEY, levelOfClient } from "../../shared/contract/level.ts";
import { LIST_START, parseCursor, toCursor } from "../jobs/list-place.ts";
import { HttpFault, mustBe } from "./http-fault.ts";
import * as routes from "./routes.ts";
import type { ServiceAppDeps } from "./service-app-deps.ts";
import { jobOf, listedJob, shownJob } from "./shown-job.ts";

/** Adds the operations that read jobs and change nothing. */
export function addReadingOfJobs(app: OpenAPIHono, deps: ServiceAppDeps): void {
  addOneJob(app, deps);
  addChanges(app, deps);
  addList(app, deps);
  addDiff(app, deps);
}

function addOneJob(app: OpenAPIHono, { store }: ServiceAppDeps): void {
  // This route isn't validated, because nothing in its request can be invalid and validating takes
  // as long as answering.
  app.openAPIRegistry.registerPath(routes.getJobRoute);
  app.get(routes.getJobRoute.getRoutingPath(), (context) => {
    const { projectId, id } = context.req.param();
    const level = levelOfClient(context.req.header(LEVEL_KEY));
    return context.json(shownJob(store, jobOf(store, projectId, id), level));
  });
}

function addChanges(app: OpenAPIHono, deps: ServiceAppDeps): void {
  const { store, projects, clock } = deps;
  const beside = (projectId: string) => {
    const project = projects.get(projectId);
    const waiting = project === undefined ? null : waitingReviews(deps, project);
    return waiting === null ? {} : { waitingReviews: z.encode(WaitingReviews, waiting) };
  };
  app.openapi(routes.changesRoute, async (context) => {
    const { projectId } = context.req.valid("param");
    const { after, wait } = context.req.valid("query");
    const { changes } = store;
    if (after === undefined) {
      return context.json({ jobs: [], next: changes.toCursor(), ...beside(projectId) }, 200);
    }
    const from = changes.parseCursor(after);
    if (from === null)
      throw new HttpFault(410, "The cursor isn't known. Begin without one, and read your jobs.");
    const { signal } = context.req.raw;
    if (!(await changes.wait(projectId, from, { clock, forMs: wait * 1000, signal }))) {
      throw new HttpFault(429, "Too many requests wait for changes.", { "retry-after": "5" });
    }
    const level = levelOfClient(context.req.header(LEVEL_KEY));
    const jobs: Sent<typeof FullJob>[] = [];
    let next = from;
    let bytes = 0;
    for (const { changed, ...job } of changes.after(projectId, from, MAX_CHANGED)) {
      const shown = shownJob(store, job, level);
      bytes += Buffer.byteLength(JSON.stringify(shown));
      if (jobs.length > 0 && bytes > MAX_CHANGES_BYTES) break;
      jobs.push(shown);
      next = changed;
    }
    return context.json({ jobs, next: changes.toCursor(next), ...beside(projectId) }, 200);
  });
}

function addList(app: OpenAPIHono, { store }: ServiceAppDeps): void {
  app.openapi(routes.listJobsRoute, (context) => {
    const { projectId } = context.req.valid("param");
    const { status, after, limit } = context.req.valid("query");
    const place = after === undefined ? LIST_START : parseCursor(after);
    if (place === null) throw new HttpFault(400, mustBe("after", routes.WANT_AFTER));
    const { jobs, next } = store.page(projectId, place, status ?? null, limit);
    const level = levelOfClient(context.req.header(LEVEL_KEY));
    const listed = jobs.map((job) => listedJob(job, level));
    return context.json({ jobs: listed, next: next === null ? null : toCursor(next) }, 200);
  });
}

function addDiff(app: OpenAPIHono, { store, runnerAccess }: ServiceAppDeps): void {
  app.openapi(routes.readDiffRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const diff = await runnerAccess.readDiff(jobOf(store, projectId, id));
    if (diff === null) throw new HttpFault(404, "The job changes nothing that can be found.");
    if (diff === "busy") throw new HttpFault(503, "Try again in 5 s.", { "retry-after": "5" });
    return context.json(diff, 200);
  });
}

/**
 * The most jobs in an answer of the feed. Its size is limited, too, unless a single job is larger.
 * A client reads 1 MiB.
 */
const MAX_CHANGED = 50;
const MAX_CHANGES_BYTES = 512 * 1024;
