import { type Server, type ServerResponse, createServer } from "node:http";
import { numberIn, pullRequestOf } from "../identity.ts";
import { nowMs } from "../scenario.ts";
import { type Journal, noteFirst } from "./journal.ts";
import { readBody } from "./slack.ts";

export type JobServiceOptions = {
  /** The shortest and the longest job, milliseconds; null: jobs never end. */
  jobMs: [number, number] | null;
  /** Whether it leaves every call without an answer. */
  isHeld: boolean;
};

type Job = { n: number | null; endsAtMs: number };

/**
 * A job service that takes every create and completes every job in its time, with a pull request. A job it has never heard of
 * is active: the stores that the bench fills by itself name such jobs.
 */
export function createJobService(journal: Journal, { jobMs, isHeld }: JobServiceOptions): Server {
  const jobs = new Map<string, Job>();

  function create(body: string): string {
    const n = numberIn(body);
    const id = `job_bench_${n ?? jobs.size}_end`;
    if (n !== null) noteFirst(journal.created, n, nowMs());
    if (!jobs.has(id)) jobs.set(id, { n, endsAtMs: nowMs() + lengthOf(n ?? jobs.size) });
    return id;
  }

  /** Spread evenly between the shortest and the longest, and the same for the same number in every run. */
  function lengthOf(n: number): number {
    if (jobMs === null) return Infinity;
    const [shortest, longest] = jobMs;
    return shortest + ((n * 0.618_034) % 1) * (longest - shortest);
  }

  function sendJob(response: ServerResponse, status: number, id: string): void {
    const job = jobs.get(id);
    const isCompleted = job !== undefined && nowMs() >= job.endsAtMs;
    const prLink = isCompleted && job.n !== null ? pullRequestOf(job.n) : null;
    if (isCompleted && job.n !== null) noteFirst(journal.known, job.n, nowMs());
    response.writeHead(status, { "content-type": "application/json" }).end(
      JSON.stringify({
        id,
        status: isCompleted ? "completed" : "active",
        source: { repository: "acme/docs", ref: "main" },
        model: "bench-1",
        prLink,
        createdAt: new Date().toISOString().replace(/\.\d{3}Z$/, "Z"),
        archivedAt: null,
      }),
    );
  }

  return createServer((request, response) => {
    response.on("error", () => response.destroy());
    if (isHeld) {
      request.resume();
      return;
    }
    const [, jobId] = /\/job(?:\/([^/?]+))?(?:\?.*)?$/.exec(request.url ?? "") ?? [];
    readBody(request, (body) => {
      if (request.method === "POST" && jobId === undefined) return sendJob(response, 201, create(body));
      if (request.method === "GET" && jobId !== undefined) {
        journal.polls += 1;
        journal.jobsPolled.add(jobId);
        return sendJob(response, 200, jobId);
      }
      journal.unknownCalls.add(`${request.method} ${request.url}`);
      return void response
        .writeHead(404, { "content-type": "application/json" })
        .end('{"error":"No such route"}');
    });
  });
}
