import type { IncomingMessage, ServerResponse } from "node:http";
import { HTTPReceiver } from "@slack/bolt";
import type { SocketModeReceiver } from "@slack/bolt";
import type { WebClient } from "@slack/web-api";
import type { Clock } from "./core/clock.ts";
import type { TaskQueue } from "./core/task-queue.ts";
import { messageOf } from "./errors.ts";
import { slackFault } from "./replies/slack-faults.ts";
import type { Store } from "./store/open-store.ts";

/** Probes come from several sides at once; Slack and the disk are asked at most this often. */
const FRESH_MS = 2000;

type HealthDeps = {
  client: WebClient;
  store: Pick<Store, "check" | "setAsideCount">;
  queue: Pick<TaskQueue, "check" | "counts">;
  clock: Clock;
  receiver: HTTPReceiver | SocketModeReceiver;
};

type Readiness = { ready: boolean; body: object };

/**
 * Answers `GET /healthz` (the process lives) and `GET /readyz` (200 only while store, queue and the connection to Slack work,
 * with what does not work and the counts an operator watches). Returns whether the request was one of these.
 */
export function createHealth(
  deps: HealthDeps,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const socketConnected = watchSocket(deps.receiver);
  let last: { at: number; readiness: Promise<Readiness> } | null = null;

  function readiness(): Promise<Readiness> {
    const now = deps.clock.now();
    if (last === null || now - last.at >= FRESH_MS)
      last = { at: now, readiness: check(deps, socketConnected) };
    return last.readiness;
  }

  return (request, response) => {
    const path = request.url?.split("?")[0];
    if (path !== "/healthz" && path !== "/readyz") return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
      return true;
    }
    if (path === "/healthz") {
      send(response, 200, { status: "ok" });
      return true;
    }
    readiness().then(
      ({ ready, body }) => send(response, ready ? 200 : 503, body),
      (thrown: unknown) => send(response, 503, { status: "unavailable", error: messageOf(thrown) }),
    );
    return true;
  };
}

async function check(deps: HealthDeps, socketConnected: () => boolean): Promise<Readiness> {
  const [store, queue, slack] = await Promise.all([
    outcomeOf(() => deps.store.check(), messageOf),
    outcomeOf(() => deps.queue.check(), messageOf),
    socketConnected()
      ? outcomeOf(
          () => deps.client.auth.test(),
          (thrown) => slackFault(thrown).error,
        )
      : "the Socket Mode connection is down",
  ]);
  const checks = { store, queue, slack };
  const ready = Object.values(checks).every((outcome) => outcome === "ok");
  const tasks = await deps.queue.counts().catch(() => null);
  return {
    ready,
    body: {
      status: ready ? "ok" : "unavailable",
      checks,
      tasks,
      records_set_aside: deps.store.setAsideCount(),
    },
  };
}

async function outcomeOf(run: () => Promise<unknown>, explain: (thrown: unknown) => string): Promise<string> {
  try {
    await run();
    return "ok";
  } catch (thrown) {
    return explain(thrown);
  }
}

function watchSocket(receiver: HTTPReceiver | SocketModeReceiver): () => boolean {
  if (receiver instanceof HTTPReceiver) return () => true;
  let connected = false;
  receiver.client.on("connected", () => {
    connected = true;
  });
  for (const event of ["close", "reconnecting", "disconnecting", "disconnected"]) {
    receiver.client.on(event, () => {
      connected = false;
    });
  }
  return () => connected;
}

function send(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(`${JSON.stringify(body)}\n`);
}
