import { type Server, type ServerResponse, createServer } from "node:http";
import { LEVEL_HEADER, SAID_BY_SERVICE } from "../../src/shared/contract/level.ts";
import { requestNumberIn, pullRequestOf } from "./identity.ts";
import { nowMs } from "../clock/epoch.ts";
import { type Journal, noteFirst } from "./journal.ts";
import { readBodyText } from "./read-body.ts";

/** Options of {@link createLightJobService}. */
export type LightJobServiceOptions = {
  /** The shortest and the longest turn, in milliseconds. Null if turns never end. */
  jobMs: [number, number] | null;
  /** True if it leaves every call without an answer. */
  isHeld: boolean;
  /** True if it speaks level 1 and reports turns. Otherwise it knows the contract alone. */
  reportsTurns: boolean;
};

type BenchTurn = { n: number | null; takenAtMs: number; endsAtMs: number };

/** As many turns as our own service reports. */
const REPORTED_TURNS = 20;

/**
 * Creates a job service that takes every create and every message. It works off the turns of each
 * job one after the other, each in its time, with a pull request. A job that it doesn't know counts
 * as active, because the bench itself fills stores that name such jobs. The job service of
 * `world/job-service` knows only jobs that were created, ends them when a test says so, and keeps
 * every call and every answer for the test to read.
 */
export function createLightJobService(
  journal: Journal,
  { jobMs, isHeld, reportsTurns }: LightJobServiceOptions,
): { server: Server; takeMessages(areTaken: boolean): void } {
  const jobs = new Map<string, BenchTurn[]>();
  let areMessagesTaken = true;

  function create(body: string): string {
    const n = requestNumberIn(body);
    const id = `job_bench_${n ?? jobs.size}_end`;
    if (!jobs.has(id)) jobs.set(id, []);
    if (jobs.get(id)?.length === 0) take(id, n);
    return id;
  }

  function take(id: string, n: number | null): void {
    const turns = jobs.get(id) ?? [];
    const takenAtMs = nowMs();
    if (n !== null) noteFirst(journal.created, n, takenAtMs);
    const startsAtMs = Math.max(takenAtMs, turns.at(-1)?.endsAtMs ?? 0);
    turns.push({ n, takenAtMs, endsAtMs: startsAtMs + lengthOf(n ?? jobs.size) });
    jobs.set(id, turns);
  }

  /**
   * Spreads lengths evenly between the shortest and the longest. A number has the same length in
   * every run.
   */
  function lengthOf(n: number): number {
    if (jobMs === null) return Infinity;
    const [shortest, longest] = jobMs;
    return shortest + ((n * 0.618_034) % 1) * (longest - shortest);
  }

  function sendJob(response: ServerResponse, status: number, id: string): void {
    const turns = jobs.get(id) ?? [];
    const [first] = turns;
    const last = turns.at(-1);
    const isCompleted = last !== undefined && nowMs() >= last.endsAtMs;
    const n = first?.n ?? null;
    const prLink = isCompleted && n !== null ? pullRequestOf(n) : null;
    if (isCompleted && n !== null) noteFirst(journal.known, n, nowMs());
    response.writeHead(status, { ...JSON_HEADERS, ...(reportsTurns ? ANNOUNCED : {}) }).end(
      JSON.stringify({
        id,
        status: isCompleted ? "completed" : "active",
        source: { repository: "acme/docs", ref: "main" },
        model: "bench-1",
        prLink,
        createdAt: new Date().toISOString().replace(/\.\d{3}Z$/, "Z"),
        archivedAt: null,
        ...(reportsTurns ? { turns: reported(turns) } : {}),
      }),
    );
  }

  function refuse(response: ServerResponse, status: number, error: string): void {
    response.writeHead(status, JSON_HEADERS).end(JSON.stringify({ error }));
  }

  const server = createServer((request, response) => {
    response.on("error", () => response.destroy());
    if (isHeld) {
      request.resume();
      return;
    }
    const [, jobId, message] = /\/job(?:\/([^/?]+)(\/message)?)?(?:\?.*)?$/.exec(request.url ?? "") ?? [];
    readBodyText(request, (body) => {
      if (request.method === "POST" && jobId === undefined) return sendJob(response, 201, create(body));
      if (request.method === "POST" && jobId !== undefined && message !== undefined) {
        if (!areMessagesTaken) return refuse(response, 503, "Not now");
        take(jobId, requestNumberIn(body));
        return sendJob(response, 200, jobId);
      }
      if (request.method === "GET" && jobId !== undefined) {
        journal.polls += 1;
        journal.jobsPolled.add(jobId);
        return sendJob(response, 200, jobId);
      }
      // The program checks whether the service can be reached.
      if (request.method === "HEAD") return refuse(response, 404, "No such route");
      // It has no feed, so its jobs are polled.
      if (reportsTurns && request.url?.includes("/changes") === true) {
        return refuse(response, 404, "No such route");
      }
      journal.unknownCalls.add(`${request.method} ${request.url}`);
      return refuse(response, 404, "No such route");
    });
  });
  return {
    server,
    takeMessages(areTaken) {
      areMessagesTaken = areTaken;
    },
  };
}

const JSON_HEADERS = { "content-type": "application/json" };
const ANNOUNCED = { [LEVEL_HEADER.toLowerCase()]: SAID_BY_SERVICE.join(", ") };

/** Returns the newest turns in the form in which our own service reports them. */
function reported(turns: readonly BenchTurn[]): Record<string, unknown>[] {
  const now = nowMs();
  const from = Math.max(0, turns.length - REPORTED_TURNS);
  return turns.slice(from).map(({ takenAtMs, endsAtMs }, index) => {
    const isEnded = now >= endsAtMs;
    const isFirst = now >= (turns[from + index - 1]?.endsAtMs ?? 0);
    return {
      number: from + index + 1,
      status: isEnded ? "ended" : isFirst ? "running" : "waiting",
      outcome: isEnded ? "pull-request" : null,
      acceptedAt: new Date(takenAtMs).toISOString(),
      endedAt: isEnded ? new Date(endsAtMs).toISOString() : null,
    };
  });
}
