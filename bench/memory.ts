import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, interleave } from "./bench.ts";
import { Load } from "./load.ts";
import type { Memory } from "./program.ts";
import { signedRequests } from "./signed-request.ts";
import { startBareBolt, startDocsAgent, startSides } from "./subjects.ts";

const JOBS = 1000;
const JOBS_TEXT = JOBS.toLocaleString("en-US");
const CONNECTIONS = 10;
/** After "ready", for what a start leaves behind. */
const SETTLE_MS = 500;
/** Every watched job is polled at least once meanwhile: the default `POLL_MIN_MS` is 5 s. */
const WATCH_MS = 6000;
const WATCHED_WITHIN_MS = 40_000;

/** Resident memory: what a Bolt app is not spared, and what the product adds to it. */
export const memory: Bench = {
  name: "memory",
  summary: `resident memory when ready and with ${JOBS_TEXT} watched jobs, against bare Bolt when ready`,
  rounds: 3,
  budgetMs: 48_000,
  async run(context) {
    const { dir } = context;
    await using sides = await startSides(dir, JOBS);
    const requests = signedRequests(JOBS, JOBS, sides.signingSecret);

    async function measureDocsAgent(store: string): Promise<{ ready: Memory; watching: Memory }> {
      const { program, origin, storePath } = await startDocsAgent({ sides, dir, store });
      await using _ = program;
      await sleep(SETTLE_MS);
      const ready = await program.memory();
      await using load = new Load(origin, CONNECTIONS, requests);
      await load.run(Infinity);
      await allWatched(storePath);
      await sleep(WATCH_MS);
      return { ready, watching: await program.memory() };
    }
    async function measureBareBolt(): Promise<number> {
      const { program } = await startBareBolt({ sides, dir });
      await using _ = program;
      await sleep(SETTLE_MS);
      return (await program.memory()).rssMb;
    }

    const { a, b } = await interleave(
      context,
      (round) => measureDocsAgent(`memory-${round}.sqlite`),
      measureBareBolt,
    );
    const bare = { name: "bare Bolt ready", values: b };
    const sideOf = (when: "ready" | "watching", pick: (memory: Memory) => number) => ({
      name: when === "ready" ? "docs-agent ready" : `${JOBS_TEXT} jobs`,
      values: a.map((memories) => pick(memories[when])),
    });
    const rss = ({ rssMb }: Memory) => rssMb;
    const liveHeap = ({ liveHeapMb }: Memory) => liveHeapMb;
    return [
      { what: "RSS when ready", unit: "MB", measured: sideOf("ready", rss), against: bare },
      { what: "RSS when watching", unit: "MB", measured: sideOf("watching", rss), against: bare },
      {
        what: "live heap when watching",
        unit: "MB",
        measured: sideOf("watching", liveHeap),
        against: sideOf("ready", liveHeap),
      },
    ];
  },
};

/** Resolves when every request has become a job that is only polled. */
async function allWatched(storePath: string): Promise<void> {
  const db = new DatabaseSync(storePath, { readOnly: true });
  try {
    const unfinished = db.prepare(
      "SELECT count(*) FILTER (WHERE type = 'poll') AS polls, count(*) AS tasks FROM tasks WHERE ended_at IS NULL",
    );
    const startedAt = performance.now();
    for (;;) {
      const row = unfinished.get();
      if (Number(row?.["polls"]) === JOBS && Number(row?.["tasks"]) === JOBS) return;
      if (performance.now() - startedAt > WATCHED_WITHIN_MS) {
        throw new Error(`Not all requests became watched jobs within ${WATCHED_WITHIN_MS} ms`);
      }
      await sleep(50);
    }
  } finally {
    db.close();
  }
}
