import { type Server, type ServerResponse, createServer } from "node:http";
import { CAPABILITIES_HEADER } from "../../src/shared/contract/schema.ts";
import { numberIn, pullRequestOf } from "../identity.ts";
import { nowMs } from "../scenario.ts";
import { type Journal, noteFirst } from "./journal.ts";
import { readBody } from "./slack.ts";

export type JobServiceOptions = {
  /** The shortest and the longest turn, milliseconds. Null if turns never end. */
  jobMs: [number, number] | null;
  /** Whether it leaves every call without an answer. */
  isHeld: boolean;
  /**
   * Whether it announces that it tells of turns, and tells of them. Otherwise it knows the contract
   * alone.
   */
  tellsTurns: boolean;
};

type BenchTurn = { n: number | null; takenAtMs: number; endsAtMs: number };

/** As many as our own service tells of. */
const TOLD_TURNS = 20;

/**
 * A job service that takes every create and every message, and works off the turns of each job one
 * after the other, each in its time, with a pull request. A job it has never heard of is active:
 * the stores that the bench fills by itself name such jobs.
 */
export function createJobService(
  journal: Journal,
  { jobMs, isHeld, tellsTurns }: JobServiceOptions,
): { server: Server; takeMessages(areTaken: boolean): void } {
  const jobs = new Map<string, BenchTurn[]>();
  let areMessagesTaken = true;

  function create(body: string): string {
    const n = numberIn(body);
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
   * Spread evenly between the shortest and the longest, and the same for the same number in every
   * run.
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
    response.writeHead(status, { ...JSON_HEADERS, ...(tellsTurns ? ANNOUNCED : {}) }).end(
      JSON.stringify({
        id,
        status: isCompleted ? "completed" : "active",
        source: { repository: "acme/docs", ref: "main" },
        model: "bench-1",
        prLink,
        createdAt: new Date().toISOString().replace(/\.\d{3}Z$/, "Z"),
        archivedAt: null,
        ...(tellsTurns ? { turns: told(turns) } : {}),
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
    readBody(request, (body) => {
      if (request.method === "POST" && jobId === undefined) return sendJob(response, 201, create(body));
      if (request.method === "POST" && jobId !== undefined && message !== undefined) {
        if (!areMessagesTaken) return refuse(response, 503, "Not now");
        take(jobId, numberIn(body));
        return sendJob(response, 200, jobId);
      }
      if (request.method === "GET" && jobId !== undefined) {
        journal.polls += 1;
        journal.jobsPolled.add(jobId);
        return sendJob(response, 200, jobId);
      }
      // The program looks whether anything answers there.
      if (request.method === "HEAD") return refuse(response, 404, "No such route");
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
const ANNOUNCED = { [CAPABILITIES_HEADER.toLowerCase()]: "turns" };

/** The newest turns, as our own service tells of them. */
function told(turns: readonly BenchTurn[]): Record<string, unknown>[] {
  const now = nowMs();
  const from = Math.max(0, turns.length - TOLD_TURNS);
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
