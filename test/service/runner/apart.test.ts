import { readFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ReaderProcesses } from "../../../src/service/runner/process/apart/apart.ts";
import { processStat } from "../../../src/service/runner/workspace/process-group.ts";
import { spawnNode } from "../../support/child-process.ts";
import { PATIENT } from "../../support/patient.ts";

const BUSY_READER = fileURLToPath(new URL("../../support/busy-reader.ts", import.meta.url));

const NO_SECRETS = () => [];
const never = () => new AbortController().signal;
/** The time that a process has worked, in the kernel's ticks. */
const ticksOf = async (pid: number) => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[11]);
};
/** Quotes to be found in a page. */
const sources = (text: string, ...quotes: string[]) => ({
  claims: quotes.map((quote) => ({
    page: "page.md",
    statement: "It is so.",
    source: { repository: "docs", path: "page.md", line: null, quote },
    path: "page.md",
    evidence: "code" as const,
    converted: false,
  })),
  files: new Map([["page.md", { content: Buffer.from(text), after: Buffer.from(text) }]]),
  commit: "",
  at: null,
  isPublic: true,
});
const EASY = sources("one\ntwo and\n three four five\n", "two and three four");
const FOUND = [{ evidence: "code", source: { line: 2 } }];
/** A search that compares most letters of the page with many letters of each quote. */
const SLOW = sources(
  "a ".repeat(2_000_000),
  ...Array.from({ length: 20_000 }, () => `${"a ".repeat(200)}b ${"a ".repeat(250)}`),
);
const LARGE = sources("a\n".repeat(16 * 1024 ** 2), "twelve letters");

it("reads in a process that it keeps for the next call", async () => {
  using readers = new ReaderProcesses();
  const turn = readers.forTurn("docs", never(), NO_SECRETS);
  expect(readers.pids).toEqual([]);
  expect(await turn.read("checkSources", EASY)).toMatchObject(FOUND);
  const { pids } = readers;
  expect(await readers.forTurn("docs", never(), NO_SECRETS).read("checkSources", EASY)).toMatchObject(FOUND);
  expect(readers.pids).toEqual(pids);
  expect(pids).toHaveLength(1);
});

it("ends a call that is too slow, and no other", async () => {
  using readers = new ReaderProcesses({ timeLimitMs: 5000 });
  const hostile = readers.forTurn("docs", never(), NO_SECRETS);
  const slow = hostile.read("checkSources", SLOW);
  const queued = hostile.read("checkSources", SLOW);
  const other = readers.forTurn("docs", never(), NO_SECRETS);
  expect(await other.read("checkSources", EASY)).toMatchObject(FOUND);
  expect(await other.read("checkSources", EASY)).toMatchObject(FOUND);
  // The second call of the slow turn hasn't begun, although there are processes left.
  expect(readers.pids).toHaveLength(2);
  const words = "The sources that the agent named took too long to check. Ask for a smaller change.";
  await expect(slow).rejects.toMatchObject({ code: "turn_failed", message: words });
  await expect(queued).rejects.toMatchObject({ code: "turn_failed", message: words });
  expect(await hostile.read("checkSources", EASY)).toMatchObject(FOUND);
});

it("ends a call that takes too much memory, and no other", { tags: "all" }, async () => {
  using readers = new ReaderProcesses({ heapMegabytes: 64 });
  const large = readers.forTurn("docs", never(), NO_SECRETS).read("checkSources", LARGE);
  const other = readers.forTurn("docs", never(), NO_SECRETS);
  expect(await other.read("checkSources", EASY)).toMatchObject(FOUND);
  const words = "The sources that the agent named can't be checked: too large. Ask for a smaller change.";
  await expect(large).rejects.toMatchObject({ code: "turn_failed", message: words });
  expect(await other.read("checkSources", EASY)).toMatchObject(FOUND);
});

it("doesn't begin with an input that is larger than all files of a change", async () => {
  using readers = new ReaderProcesses();
  const input = sources("a".repeat(100 * 1024 ** 2));
  const read = readers.forTurn("docs", never(), NO_SECRETS).read("checkSources", input);
  await expect(read).rejects.toMatchObject({ code: "turn_failed" });
  expect(readers.pids).toEqual([]);
});

it("lets turns take turns if there are fewer processes", async () => {
  using readers = new ReaderProcesses({ processes: 2 });
  const abort = new AbortController();
  const slow = readers.forTurn("slow", abort.signal, NO_SECRETS);
  const reads = [slow.read("checkSources", SLOW), slow.read("checkSources", SLOW)];
  const ended: string[] = [];
  const readBy = async (name: string) => {
    const turn = readers.forTurn("docs", never(), NO_SECRETS);
    for (let call = 0; call < 3; call++) {
      await turn.read("checkSources", EASY);
      ended.push(name);
    }
  };
  await Promise.all([readBy("one"), readBy("other")]);
  expect(ended).toEqual(["one", "other", "one", "other", "one", "other"]);
  expect(readers.pids).toHaveLength(2);
  abort.abort(new Error("Somebody stopped it."));
  for (const read of reads) await expect(read).rejects.toThrow("Somebody stopped it.");
});

it("leaves processes to other projects if all that one reads is slow", { tags: "all" }, async () => {
  using readers = new ReaderProcesses();
  const abort = new AbortController();
  const reads = Array.from({ length: 4 }, () =>
    readers.forTurn("slow", abort.signal, NO_SECRETS).read("checkSources", SLOW),
  );
  const other = readers.forTurn("docs", never(), NO_SECRETS);
  expect(await other.read("checkSources", EASY)).toMatchObject(FOUND);
  expect(readers.pids).toHaveLength(3);
  abort.abort(new Error("Somebody stopped it."));
  for (const read of reads) await expect(read).rejects.toThrow("Somebody stopped it.");
});

it("ends a call when its turn is aborted, also one that waits", async () => {
  using readers = new ReaderProcesses();
  const abort = new AbortController();
  const turn = readers.forTurn("docs", abort.signal, NO_SECRETS);
  const reads = [turn.read("checkSources", SLOW), turn.read("checkSources", EASY)];
  abort.abort(new Error("Somebody stopped it."));
  for (const read of reads) await expect(read).rejects.toThrow("Somebody stopped it.");
  await expect(turn.read("checkSources", EASY)).rejects.toThrow("Somebody stopped it.");
  expect(readers.pids).toEqual([]);
});

it("does without a process that somebody ended", { tags: "all" }, async () => {
  using readers = new ReaderProcesses();
  const turn = readers.forTurn("docs", never(), NO_SECRETS);
  await turn.read("checkSources", EASY);
  const [pid = 0] = readers.pids;
  process.kill(pid, "SIGKILL");
  await expect.poll(() => processStat(pid)).toBeNull();
  expect(await turn.read("checkSources", EASY)).toMatchObject(FOUND);
});

it("reads again if somebody ended the process meanwhile", { tags: "all" }, async () => {
  using readers = new ReaderProcesses();
  const turn = readers.forTurn("docs", never(), NO_SECRETS);
  await turn.read("checkSources", EASY);
  const [pid = 0] = readers.pids;
  process.kill(pid, "SIGSTOP");
  const read = turn.read("checkSources", EASY);
  // It has been asked by then.
  await setImmediate();
  process.kill(pid, "SIGKILL");
  expect(await read).toMatchObject(FOUND);
  expect(readers.pids).not.toContain(pid);
});

it("leaves no busy process behind if the one that started it is killed", { tags: "all" }, async () => {
  await using parent = spawnNode(BUSY_READER);
  await parent.wrote(1);
  const pid = Number(parent.lines[0]);
  const before = await ticksOf(pid);
  // It has worked for a second, so it has been asked.
  await expect.poll(() => ticksOf(pid), PATIENT).toBeGreaterThan(before + 100);
  await parent.kill();
  await expect.poll(async () => (await processStat(pid))?.isRunning ?? false, PATIENT).toBe(false);
});

it("leaves no process behind", async () => {
  const readers = new ReaderProcesses();
  const busy = readers.forTurn("docs", never(), NO_SECRETS).read("checkSources", SLOW);
  await readers.forTurn("docs", never(), NO_SECRETS).read("checkSources", EASY);
  const { pids } = readers;
  expect(pids).toHaveLength(2);
  readers.close();
  await expect(busy).rejects.toThrow("The turn broke off.");
  for (const pid of pids) await expect.poll(() => processStat(pid)).toBeNull();
});
