import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Usage } from "../../src/shared/contract/turn.ts";
import type { ServiceProject } from "../../src/service/config/config.ts";
import { networkOf, type ServiceModel } from "../../src/service/config/env.ts";
import { modelsBehind } from "../../src/service/runner/link/models-behind.ts";
import { type DoorWork, ModelDoor } from "../../src/service/runners/models/model-door.ts";
import { keySent } from "../../src/service/runners/models/pass-call.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { COMPILE_CACHE } from "./child-process.ts";
import { makeServiceProject } from "./service-project.ts";
import { openTempDir } from "./temp-dir.ts";
import { openNetworkWorld, REAL_KEY, upstreamAt } from "./turn-network.ts";

/** The key of the lease that calls of these tests carry. */
export const LEASE_KEY = `lease_${"0123456789abcdef".repeat(3)}`;
const KEY_ENV = "MODEL_DOOR_TEST_KEY";

/** A model of the settings at this address. */
export function modelAt(url: string, over: Partial<ServiceModel> = {}): ServiceModel {
  const { key: _, ...model } = upstreamAt(url);
  const { allow } = model;
  return {
    ...model,
    prices: {},
    allow: { fields: [...allow.fields], tools: [...allow.tools], betas: [...allow.betas] },
    keyEnv: KEY_ENV,
    ...over,
  };
}

/** Serves a door as the job service does: at `/runner/work/:id/models/:model/*`, behind a key. */
export async function serveDoor(door: Pick<ModelDoor, "pass">) {
  const app = new Hono();
  app.all("/runner/work/:id/models/:model/*", async (context) =>
    keySent(context.req.raw.headers) === LEASE_KEY
      ? door.pass(context.req.param("id"), context.req.raw)
      : context.text("", 401),
  );
  const answer = getRequestListener((request) => app.fetch(request));
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The processes of model doors that a process has started. */
export function doorsOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim().split(" "))
    .filter((child) => child !== "" && commandLine(child).includes("runners/models/main"))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** A call of a runner elsewhere, without its own gateway. */
export function callDoor(address: string, body: object | null, over: RequestInit = {}): Promise<Response> {
  return fetch(address, {
    method: body === null ? "GET" : "POST",
    headers: { authorization: `Bearer ${LEASE_KEY}`, "content-type": "application/json" },
    ...(body !== null && { body: JSON.stringify(body) }),
    ...over,
  });
}

/** Reads an answer until it ends. `isWhole` is false if it was broken off. */
export async function readOut({ body }: Response): Promise<{ bytes: number; isWhole: boolean }> {
  let bytes = 0;
  try {
    for await (const chunk of body ?? new ReadableStream<Uint8Array>()) bytes += chunk.length;
    return { bytes, isWhole: true };
  } catch {
    return { bytes, isWhole: false };
  }
}

/** Starts `model-door-program.ts` with the real key in its environment. */
export async function spawnDoor(upstream: string) {
  const dir = await openTempDir();
  const program = fileURLToPath(new URL("model-door-program.ts", import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify({ upstream, dataDir: dir.path })], {
    env: { ...process.env, [KEY_ENV]: REAL_KEY, NODE_COMPILE_CACHE: COMPILE_CACHE },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const { promise: started, resolve, reject } = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const url = /^http:.*$/m.exec(output)?.[0];
      if (url !== undefined) resolve(url);
    });
  }
  const gone = once(child, "close");
  void gone.then(() => reject(new Error(`It ended: ${output}`)));
  const url = await started;
  return {
    /** Of the open piece of work. */
    url: `${url}/runner/work/a`,
    pid: child.pid ?? 0,
    /** All that it and the door have written so far. */
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await gone;
      await dir[Symbol.asyncDispose]();
    },
  };
}

export type DoorWorld = Awaited<ReturnType<typeof openDoorWorld>>;

/** A job service's door with one project, whose models have the real key in the environment. */
export async function openDoorWorld(
  models: readonly ServiceModel[],
  { project: over = {}, pingEveryMs }: { project?: Partial<ServiceProject>; pingEveryMs?: number } = {},
) {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await openTempDir());
  mkdirSync(dir.file("data"));
  const logger = new RecordingLogger();
  const project = makeServiceProject({ models: [...models], ...over });
  const settings = { dataDir: dir.file("data"), logLevel: "error" as const, projects: [project] };
  process.env[KEY_ENV] = REAL_KEY;
  stack.defer(() => void delete process.env[KEY_ENV]);
  const door = stack.use(new ModelDoor(settings, logger, pingEveryMs === undefined ? {} : { pingEveryMs }));
  const served = stack.use(await serveDoor(door));
  const usages: Usage[] = [];
  const exceeded: string[] = [];
  const base = (id: string) => `${served.url}/runner/work/${id}`;
  return {
    door,
    project,
    logger,
    port: served.port,
    dataDir: settings.dataDir,
    usages,
    exceeded,
    /** The door's process, or undefined if there is none. */
    pid: () => doorsOf(process.pid)[0],
    open: (id: string, work: Partial<DoorWork> = {}) =>
      door.open(id, {
        project,
        usedBefore: null,
        onUsage: (usage) => usages.push(usage),
        onExceeded: (reason) => exceeded.push(reason),
        ...work,
      }),
    /** A call without the runner's own gateway. */
    call: (id: string, path: string, body: object | null, over: RequestInit = {}) =>
      callDoor(`${base(id)}${path}`, body, over),
    /** The network of a turn on another machine, with the gateway that its agent calls. */
    elsewhere(id: string) {
      const seen = modelsBehind(project, { url: base(id), key: LEASE_KEY });
      const { models: upstreams, budget } = networkOf(seen.project, seen.env);
      return openNetworkWorld({ models: upstreams, budget });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
