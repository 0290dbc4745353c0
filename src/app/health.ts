import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../shared/machine/ports.ts";
import type { AppQueue } from "./rules/records.ts";
import { messageOf } from "../shared/errors.ts";
import type { AppRecords } from "./rules/records.ts";
import type { Store } from "../shared/store/store.ts";

/** Probes come from several sides at once. The disk is checked at most this often. */
const FRESH_MS = 250;

type HealthDeps = {
  store: Pick<Store<AppRecords>, "check" | "setAsideCount" | "risk">;
  queue: Pick<AppQueue, "check" | "counts">;
  /** "ok", or what is wrong with the connection to Slack. Returns at once. */
  slack: () => string;
  /** True if the process is about to end and accepts requests only until proxies have noticed. */
  isLeaving: () => boolean;
  clock: Clock;
};

/**
 * Answers `GET /healthz` (the process is alive) and `GET /readyz` (200 while the app itself can
 * accept and keep requests). Trouble with Slack, or a loss that is over, is only in the body: with
 * a 503, a load balancer would drop requests that the app could have kept. Returns true if the
 * request was one of these.
 */
export function createHealth(deps: HealthDeps) {
  let last: { atMs: number; readiness: ReturnType<typeof check> } | null = null;

  function readiness(): ReturnType<typeof check> {
    const nowMs = deps.clock.monotonicMs();
    if (last === null || nowMs - last.atMs >= FRESH_MS) last = { atMs: nowMs, readiness: check(deps) };
    return last.readiness;
  }

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = request.url?.split("?")[0];
    if (path !== "/healthz" && path !== "/readyz") return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
    } else if (path === "/healthz") send(response, 200, { status: "ok" });
    else if (deps.isLeaving()) send(response, 503, { status: "stopping" });
    else {
      readiness().then(
        ({ ready, body }) => send(response, ready ? 200 : 503, body),
        (thrown: unknown) => send(response, 503, { status: "unavailable", error: messageOf(thrown) }),
      );
    }
    return true;
  };
}

async function check(deps: HealthDeps) {
  const slack = deps.slack();
  // Checked at the same time, so that a probe waits for only one timeout if the store doesn't
  // answer.
  const [store, queue, tasks] = await Promise.all([
    deps.store.check().then(said, failed),
    deps.queue.check().then(() => said(null), failed),
    deps.queue.counts().catch(() => null),
  ]);
  const ready = store.isReady && queue.isReady;
  const checks = { store: store.is, queue: queue.is, slack };
  const isWell = Object.values(checks).every((is) => is === "ok");
  return {
    ready,
    body: {
      status: ready ? (isWell ? "ok" : "degraded") : "unavailable",
      checks,
      tasks,
      records_set_aside: deps.store.setAsideCount(),
      ...(deps.store.risk === null ? {} : { risk: deps.store.risk }),
    },
  };
}

function said(trouble: string | null) {
  return { isReady: true, is: trouble ?? "ok" };
}

function failed(thrown: unknown) {
  return { isReady: false, is: messageOf(thrown) };
}

function send(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(`${JSON.stringify(body)}\n`);
}
