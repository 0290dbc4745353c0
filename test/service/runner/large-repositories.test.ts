// @module-tag all

import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { closeNow, listenOnLoopback } from "../../../world/loopback-server.ts";
import { readProgress, withoutProgress } from "../../../src/service/runner/workspace/git/fetch-watch.ts";
import { addCommits } from "../../support/long-history.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";
import { startStreamingProxy } from "../../../world/faults/streaming-proxy.ts";

const EDIT = inlineAgent(`fs.appendFileSync("README.md", "more\\n")`);
const PACK = /^POST .*git-upload-pack$/;

/** A world whose repository has many commits, behind a proxy. */
async function openLargeWorld({ commits, clock }: { commits: number; clock?: ManualClock }) {
  const world = await openRunnerWorld({ containment: "none", ...(clock && { clock }) });
  await addCommits(world.bare, { commits });
  await world.inBare("repack", "-adq");
  const repository = new URL(world.codeHost.gitUrl("acme", "docs"));
  const proxy = await startStreamingProxy(repository.origin, 8192);
  const project = world.project(EDIT, { repository: `${proxy.url}${repository.pathname}` });
  const mirrors = () => readdir(world.dir.file("data/mirrors"));
  return {
    world,
    proxy,
    /** Its agent has much time, because the clock may be moved far. */
    project: { ...project, agent: { ...project.agent, timeLimitMinutes: 24 * 60 } },
    mirror: async () => world.dir.file(`data/mirrors/${(await mirrors())[0]}`),
    /** The bytes that the mirror's packs have. */
    async written(): Promise<number> {
      const [name] = await mirrors();
      const folder = world.dir.file(`data/mirrors/${name}/objects/pack`);
      const names = await readdir(folder).catch(() => []);
      const sizes = names.map((each) =>
        stat(`${folder}/${each}`).then(
          ({ size }) => size,
          () => 0,
        ),
      );
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    },
    /** The bytes that the host sends meanwhile. */
    async bytesOf(act: () => Promise<unknown>): Promise<number> {
      const before = proxy.sentBytes;
      await act();
      return proxy.sentBytes - before;
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

it("fetches no more of a long history than it needs, and knows where branches part", async () => {
  await using large = await openLargeWorld({ commits: 1500 });
  const { world, project } = large;
  const url = project.repository.replace("//", `//x-access-token:${world.token}@`);
  const cloned = await large.bytesOf(() => world.git("clone", "-q", "--bare", url, world.dir.file("plain")));
  const context = { name: "cli", repository: world.bare, ref: "main", paths: [], publish: "allow" as const };
  const fetched = await large.bytesOf(async () => {
    const result = await world.run({ ...project, context: [context] });
    expect(result).toMatchObject({ kind: "pull-request" });
  });
  expect(fetched / cloned).toBeLessThan(0.5);
  // Of a context repository, only the files are read.
  const depths = async () => {
    const names = await readdir(world.dir.file("data/mirrors"));
    const count = (name: string) =>
      world.git("-C", world.dir.file(`data/mirrors/${name}`), "rev-list", "--count", "refs/mirror/base");
    return (await Promise.all(names.map(count))).map(Number).toSorted((one, other) => one - other);
  };
  expect(await depths()).toEqual([1, 250]);

  // Somebody merges a branch that began long ago. So the shortest way to what both have in common leads past where the job's branch began.
  const old = await world.inBare("rev-parse", "main~100");
  await addCommits(world.bare, { commits: 300, seed: 8 });
  const side = await world.inBare("commit-tree", `${old}^{tree}`, "-p", old, "-m", "Long ago");
  const tip = await world.inBare("rev-parse", "main");
  const merge = await world.inBare("commit-tree", "main^{tree}", "-p", tip, "-p", side, "-m", "Merge it");
  await world.inBare("update-ref", "refs/heads/main", merge);

  const earlierTurns = [{ prompt: "Fix the typo", summary: "Did it" }];
  expect(await world.run(project, { earlierTurns })).toMatchObject({ kind: "pull-request" });
  expect((await depths()).every((count) => count < 1500)).toBe(true);
  expect(await world.commits()).toBe(2);
  expect(world.pulls()[0]?.body).toContain("README.md");
  expect(world.pulls()[0]?.body).not.toContain("docs/long");
  expect(await world.diff(null, project)).toMatchObject({
    fileCount: 1,
    files: [{ path: "README.md", additions: 2 }],
  });

  // Its branch is merged and gone, and the base branch has gone on.
  await world.asPerson("PUT", "1/merge", { merge_method: "merge" });
  const head = await world.inBare("rev-parse", "docs-agent/job1");
  await world.inBare("update-ref", "-d", "refs/heads/docs-agent/job1");
  await addCommits(world.bare, { commits: 300, seed: 9 });
  expect(await world.diff(head, project)).toMatchObject({ fileCount: 1, files: [{ path: "README.md" }] });
});

it("leaves a mirror complete that has the whole history, and packs one that has not", async () => {
  await using large = await openLargeWorld({ commits: 100 });
  const { world, project } = large;
  const isCut = async () => (await readdir(await large.mirror())).includes("shallow");
  await world.run(project);
  await addCommits(world.bare, { commits: 400, seed: 8 });
  expect(await world.run(project, { jobId: "job2" })).toMatchObject({ kind: "pull-request" });
  expect(await isCut()).toBe(false);

  const other = { ...project, id: "other" };
  await world.run(other, { jobId: "job3" });
  const names = await readdir(world.dir.file("data/mirrors"));
  const paths = names.map((name) => world.dir.file(`data/mirrors/${name}`));
  const cut = (await Promise.all(paths.map(async (path) => ({ path, names: await readdir(path) })))).find(
    (each) => each.names.includes("shallow"),
  );
  await world.git("-C", cut?.path ?? "", "gc", "--quiet", "--prune=now");
  const earlierTurns = [{ prompt: "Fix the typo", summary: "Did it" }];
  expect(await world.run(other, { jobId: "job3", earlierTurns })).toMatchObject({ kind: "pull-request" });
  expect(world.logger.text("warn")).not.toContain("mirror is broken");
});

it("goes on with a fetch that makes progress, however long it takes, and says how far it is", async () => {
  const clock = new ManualClock();
  await using large = await openLargeWorld({ commits: 300, clock });
  const { world, proxy, project } = large;
  // Bytes that can't be packed. A kilobyte takes a second.
  await world.commitTo("main", { "docs/random.txt": randomBytes(1_200_000).toString("base64") }, "Large");
  const startedAt = clock.now();
  proxy.onPiece = async ({ what, sentBytes, bytes }) => {
    if (!PACK.test(what)) return;
    // Git passes on 64 KB at a time. What came before those has arrived.
    while (sentBytes - (await large.written()) > 100_000) await sleep(5);
    clock.advance(bytes);
  };
  expect(await world.run(project)).toMatchObject({ kind: "pull-request" });
  expect(clock.now() - startedAt).toBeGreaterThan(15 * 60_000);
  const far = world.told("step").filter((step) => step.startsWith("Fetching the repository: "));
  expect(far).toContainEqual(expect.stringMatching(/: \d+ %(?:, \d+ KB)?$/));
  expect(world.progress.filter((line) => line.startsWith("fetching"))).toHaveLength(1);
});

it.each([
  ["Receiving objects:  43% (8600/20000), 120.45 MiB | 5.12 MiB/s", "43 %, 121 MB"],
  ["Receiving objects:   0% (1/20000)", "0 %"],
  ["Unpacking objects: 100% (3/3), 1.02 KiB | 522.00 KiB/s, done.", "100 %, 2 KB"],
  ["Resolving deltas:  12% (120/1000)", "received, 12 % unpacked"],
  ["remote: Counting objects: 120345", "the git server is preparing it"],
  ["remote: Compressing objects:  71% (71/100)", "the git server is preparing it"],
  ["remote: Welcome to our server: 71% off", undefined],
  ["fatal: early EOF", undefined],
])("reads how far git says that it is: %s", (line, text) => {
  expect(readProgress(line)?.text).toBe(text);
  expect(withoutProgress(`fatal: before\n${line}\r\nfatal: after`).includes(line)).toBe(text === undefined);
});

it("begins anew with a fetch that breaks off or hangs, within the same run of the turn", async () => {
  const clock = new ManualClock();
  await using large = await openLargeWorld({ commits: 300, clock });
  const { world, proxy, project } = large;
  const open = Promise.withResolvers<void>();
  let packs = 0;
  let isHanging = false;
  proxy.onPiece = async ({ what, sentBytes }) => {
    if (!PACK.test(what)) return;
    if (sentBytes === 0) packs += 1;
    if (sentBytes < 150_000) return;
    // What was sent is thrown away with the connection, but for what git has read.
    if (packs === 2 || packs === 4) while ((await large.written()) === 0) await sleep(5);
    if (packs === 2) return "cut";
    if (packs === 4) {
      isHanging = true;
      await open.promise;
    }
  };
  const run = world.run(project);
  let isOver = false;
  void run.finally(() => (isOver = true)).catch(() => {});
  while (!isOver) {
    await sleep(10);
    // The pauses between two tries are shorter than any limit of a fetch.
    const next = (clock.nextWakeAt() ?? Infinity) - clock.now();
    if (isHanging ? next < Infinity : next <= 10_000) clock.advance(next);
    isHanging &&= !world.logger.text("warn").includes("stopped sending");
  }
  open.resolve();
  expect(await run).toMatchObject({ kind: "pull-request" });
  expect(world.logger.text("warn").match(/a fetch broke off/g)).toHaveLength(2);
  expect(world.told("step")).toContain("Fetching the repository: the connection broke, trying again");
});

it("fetches all from a server that can give nothing less", async () => {
  await using world = await openRunnerWorld({ containment: "none" });
  await addCommits(world.bare, { commits: 300 });
  await world.inBare("update-server-info");
  // It serves files, as any web server does.
  const server = createServer((request, response) => {
    const file = createReadStream(`${world.bare}${new URL(request.url ?? "", "http://x").pathname}`);
    file.on("error", () => response.writeHead(404).end());
    file.on("open", () => file.pipe(response));
  });
  const repository = `http://127.0.0.1:${await listenOnLoopback(server, 0)}/`;
  onTestFinished(() => closeNow(server));
  const context = { name: "cli", repository, ref: "main", paths: [], publish: "allow" as const };
  const seen = inlineAgent(
    `fs.cpSync(process.env.DOCS_AGENT_CONTEXT + "/cli/docs/long/1.md", "docs/seen.md")`,
  );
  for (const jobId of ["job1", "job2"]) {
    const result = await world.run(world.project(seen, { context: [context] }), { jobId });
    expect(result).toMatchObject({ kind: "pull-request", notes: [] });
  }
  expect(world.logger.text("warn")).not.toContain("mirror is broken");
});

it("pushes although the whole base branch was replaced while the agent worked", async () => {
  await using large = await openLargeWorld({ commits: 300 });
  const { world, project } = large;
  world.gitHttp.before = async (request) => {
    if (!request.endsWith("service=git-receive-pack")) return;
    world.gitHttp.before = undefined;
    const other = await world.inBare("commit-tree", "main^{tree}", "-m", "A new beginning");
    await world.inBare("update-ref", "refs/heads/main", other);
  };
  await world.run(project).catch(() => {});
  expect(await world.show("README.md")).toContain("more");
});
