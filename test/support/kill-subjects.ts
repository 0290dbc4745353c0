import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Boundary, KillSubject } from "../contracts/kill-at-every-step.ts";
import { AppProcess, quiet } from "./app-process.ts";
import { leasesAreOver, liveTasks, openRedisClient } from "./redis.ts";
import { startRedisServer } from "./redis-server.ts";
import { startRedisSteps } from "./redis-steps.ts";
import { openTempDir } from "./temp-dir.ts";

type Env = Record<string, string | undefined>;

/** Opens a queue that dies before one of its commits, or after the last one. */
export async function openSqliteKill(
  others: Env,
  boundary: Boundary | null,
  onWrite: (boundary: Boundary) => void,
): Promise<KillSubject> {
  const dir = await openTempDir();
  const path = dir.file("state.sqlite");
  const env = { ...others, STORE_URL: `sqlite://${path}` };
  const first = new AppProcess({
    env,
    onCommit: ({ commit, isEmpty, sql }) => {
      if (!isEmpty) onWrite({ at: "write", phase: "before", number: commit, what: sql });
    },
    ...(boundary?.at === "write" ? { killAtCommit: `${boundary.phase}:${boundary.number}` } : {}),
  });
  return {
    first,
    startSecond: () => new AppProcess({ env }),
    quiet: (app) => quiet(path, app),
    tasks: () => {
      const db = new DatabaseSync(path, { readOnly: true });
      const rows = db.prepare("SELECT id FROM tasks WHERE state = 'waiting' AND type <> 'feed'").all();
      db.close();
      return rows.map(({ id }) => String(id));
    },
    deadTasks: () => {
      const db = new DatabaseSync(path, { readOnly: true });
      const row = db.prepare("SELECT count(*) AS dead FROM tasks WHERE state = 'dead'").get();
      db.close();
      return Number(row?.["dead"]);
    },
    [Symbol.asyncDispose]: async () => {
      await first[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/**
 * Opens a queue that dies after a script or command that wrote something at Redis, and doesn't get
 * the answer. Dying before the next one would be the same, because Redis doesn't notice anything in
 * between.
 */
export async function openRedisKill(
  others: Env,
  boundary: Boundary | null,
  onWrite: (boundary: Boundary) => void,
): Promise<KillSubject> {
  const resources = new AsyncDisposableStack();
  const server = resources.use(await startRedisServer());
  const admin = await openRedisClient(server.url);
  resources.defer(() => admin.destroy());
  let first: AppProcess | null = null;
  const redis = resources.use(
    await startRedisSteps(server.url, admin, async ({ phase, what, number }) => {
      if (phase === "before") return false;
      onWrite({ at: "write", phase, number, what });
      const isIt = boundary?.at === "write" && boundary.what === what && boundary.number === number;
      if (isIt) await first?.kill();
      return isIt;
    }),
  );
  first = resources.use(new AppProcess({ env: { ...others, STORE_URL: redis.url } }));
  return {
    first,
    startSecond: async () => {
      await leasesAreOver(admin, "{docs-agent}");
      return new AppProcess({ env: { ...others, STORE_URL: server.url } });
    },
    quiet: async (app) => {
      while (!app.hasExited && (await liveTasks(admin, "{docs-agent}")).length > 0) await sleep(10);
    },
    tasks: () => liveTasks(admin, "{docs-agent}"),
    deadTasks: () => admin.zCard("{docs-agent}:dead"),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
