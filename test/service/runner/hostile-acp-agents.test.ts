import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { ManualClock } from "../../support/manual-clock.ts";
import { processesOf } from "../../support/processes-of.ts";
import { fixtureAgent, inlineAgent, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";

const acp = (...steps: object[]) => fixtureAgent("acp-agent.mjs", JSON.stringify(steps));
/** What the runner says when the agent is gone. */
const LOOKING = "looking at what changed";
/** A program in its sandbox: bubblewrap twice, the shell, what it runs. */
const PROCESSES_EACH = 4;

it("answers few of an agent's requests at once, and refuses what is too much", async () => {
  // As good as a name of the processes that read it.
  const page = `docs/${randomUUID()}.md`;
  await using world = await openRunnerWorld({ files: { ...START_FILES, [page]: "page\n" } });
  const send = Array.from({ length: 300 }, () => ["fs/read_text_file", { path: `./${page}` }]);
  const run = world.run(world.acpProject(acp({ send }, { tally: true })));
  let isOver = false;
  void run.finally(() => (isOver = true));
  let most = 0;
  while (!isOver) {
    most = Math.max(most, (await processesOf(`/repo/${page}`)).length);
    await sleep(10);
  }
  expect(await run).toMatchObject({ kind: "no-changes" });
  const [, answered, refused] = /answered (\d+), refused (\d+)/.exec(world.progress.join(" ")) ?? [];
  expect(Number(answered)).toBeGreaterThanOrEqual(68);
  expect(Number(refused)).toBeGreaterThan(0);
  expect(Number(answered) + Number(refused)).toBe(300);
  expect(most).toBeLessThanOrEqual(4 * PROCESSES_EACH);
});

it.each([
  ["unknown requests", { jsonrpc: "2.0", id: 1, method: "x" }],
  [
    "known requests",
    {
      jsonrpc: "2.0",
      id: 1,
      method: "fs/read_text_file",
      params: { sessionId: "s", path: "/repo/README.md" },
    },
  ],
  ["nonsense", { jsonrpc: "2.0" }],
  ["answers that nobody asked for", { jsonrpc: "2.0", id: 7, result: {} }],
])("ends the turn of an agent that sends %s without end and reads no answer", async (_, message) => {
  await using world = await openRunnerWorld();
  const agent = inlineAgent(`
    const lines = Buffer.from(${JSON.stringify(`${JSON.stringify(message)}\n`)}.repeat(1000));
    try {
      for (let n = 0; n < 1000; n += 1) fs.writeSync(1, lines);
      fs.writeSync(2, "all of it was read");
    } catch {}
    setInterval(() => {}, 1000);
  `);
  const project = world.acpProject(agent, { maxOutputBytes: 1024 ** 3 });
  const result = await world.run(project);
  expect(result).toMatchObject({
    kind: "failed",
    reason: "The agent sent more than 1000 messages without waiting for answers, and was stopped.",
  });
  expect(JSON.stringify(result)).not.toContain("all of it was read");
});

it("makes no more answers for an agent that doesn't read them", async () => {
  const page = `docs/${randomUUID()}.md`;
  await using world = await openRunnerWorld({ files: { ...START_FILES, [page]: "x".repeat(8_000_000) } });
  const send = Array.from({ length: 60 }, () => ["fs/read_text_file", { path: `./${page}` }]);
  const abort = new AbortController();
  const agent = acp({ isDeaf: true }, { send }, { tool: "sent" }, { hang: true });
  const run = world.run(world.acpProject(agent), { signal: abort.signal });
  const ended = run.catch((error: unknown) => error);
  while (!world.progress.includes("sent")) await sleep(10);
  const seen = new Set<string>();
  // Until nothing is read any more.
  for (let quiet = 0; quiet < 50; quiet += 1) {
    for (const pid of await processesOf(`/repo/${page}`)) {
      seen.add(pid);
      quiet = 0;
    }
    await sleep(10);
  }
  abort.abort(new Error("cancelled"));
  expect(await ended).toMatchObject({ message: "cancelled" });
  expect(seen.size).toBeLessThanOrEqual(8 * PROCESSES_EACH);
});

it("commits no half of a file that an agent was still writing when it ended its turn", async () => {
  await using world = await openRunnerWorld();
  const pages = Array.from({ length: 9 }, (_, index) => `docs/late${index}.md`);
  const bytes = 4_000_000;
  const send = pages.map((path) => ["fs/write_text_file", { path: `./${path}`, bytes }]);
  const agent = acp({ send });
  const project = world.acpProject(agent, { maxOutputBytes: 100_000_000 });
  let left: Promise<string[]> | undefined;
  const onProgress = (line: string) => {
    if (line === LOOKING) left = processesOf("/repo/docs/late");
  };
  const result = await world.run(
    { ...project, repository: world.bare, codeHost: { kind: "none" } },
    { onProgress },
  );
  expect(result).toMatchObject({ kind: "branch" });
  expect(await left).toEqual([]);
  expect(await world.changed()).toEqual(pages);
  for (const path of pages) {
    expect(await world.inBare("cat-file", "-s", `docs-agent/job1:${path}`)).toBe(String(bytes));
  }
});

it("leaves no terminal running that an agent has released and that ignores SIGTERM", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  const ready = world.dir.file(randomUUID());
  const terminal = ["sh", "-c", `trap "" TERM; touch ${ready}; while :; do sleep 0.1; done`];
  const project = world.acpProject(acp({ terminal, release: ready }), { terminal: true });
  let left: Promise<string[]> | undefined;
  const onProgress = (line: string) => {
    // The agent has the words in its arguments too, and is gone by then.
    if (line === LOOKING) left = processesOf(ready);
  };
  await world.run(project, { onProgress });
  expect(await left).toEqual([]);
});

/** Asks for something that nobody answers, and is not to be ended by SIGTERM. */
function stubborn(before: string): string[] {
  return inlineAgent(`
    import { createInterface } from "node:readline";
    process.on("SIGTERM", () => {});
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const toolCall = { toolCallId: "t", title: "Run it", kind: "execute" };
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
      if (method === "session/new") send({ id, result: { sessionId: "s" } });
      if (method !== "session/prompt") return;
      ${before}
      send({ id: "ask", method: "session/request_permission", params: { sessionId: "s", toolCall, options } });
    });
    setInterval(() => {}, 1000);
  `);
}

it("ends an agent that writes too much while a person is asked, and that ignores SIGTERM", async () => {
  const clock = new ManualClock();
  await using world = await openRunnerWorld({ clock, containment: "none" });
  const agent = stubborn(`fs.writeFileSync(process.env.HOME + "/much", Buffer.alloc(40_000_000, 1));`);
  const limits = { memoryMegabytes: 4096, processes: 512, diskMegabytes: 16 };
  const result = await world.run(world.acpProject(agent, { permissions: "ask", limits }), {
    ask: () => {
      clock.advance(5_000);
      return new Promise(() => {});
    },
  });
  expect(result).toEqual({
    kind: "failed",
    reason: "The agent wrote more than its limit of 16 MB, and was stopped.",
  });
});

it("lets no agent wait for people for more than a day", async () => {
  const clock = new ManualClock();
  await using world = await openRunnerWorld({ clock });
  const result = await world.run(world.acpProject(stubborn(""), { permissions: "ask" }), {
    ask: () => {
      clock.advance(25 * 60 * 60_000);
      return new Promise(() => {});
    },
  });
  expect(result).toMatchObject({
    kind: "failed",
    reason: "The agent reached its 1-minute limit.",
  });
});
