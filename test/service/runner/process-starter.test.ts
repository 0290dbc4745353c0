import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { PausableClock } from "../../../src/service/runner/agents/pausable-clock.ts";
import { processStat } from "../../../src/service/runner/process-stat.ts";
import { ProcessStarter } from "../../../src/service/runner/starter/process-starter.ts";
import { createSystemClock } from "../../../src/system-clock.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { processesOf } from "../../support/processes-of.ts";

/** Starts a shell script; `out` and `err` are what it wrote so far. */
function start(
  script: string,
  options: { maxOutputBytes?: number; clock?: ManualClock | PausableClock } = {},
) {
  const abort = new AbortController();
  const written = { out: [] as Buffer[], err: [] as Buffer[] };
  const group = new ProcessStarter().start({
    command: "/bin/sh",
    args: ["-c", script],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    inputs: [Buffer.from("third"), Buffer.from("fourth")],
    timeLimitMs: 60_000,
    maxOutputBytes: 10_000_000,
    clock: createSystemClock(),
    ...options,
    signal: abort.signal,
    onStdout: (chunk) => written.out.push(chunk),
    onStderr: (chunk) => written.err.push(chunk),
  });
  const text = (of: "out" | "err") => Buffer.concat(written[of]).toString();
  return { group, abort, text, out: () => Buffer.concat(written.out) };
}

it("brings a program its input, and all of its output before its end", async () => {
  const { group, out, text } = start("cat; cat <&3 >&2; cat <&4 >&2; exit 7");
  const input = randomBytes(3_000_000);
  for (let at = 0; at < input.length; at += 100_000) group.stdin.write(input.subarray(at, at + 100_000));
  group.stdin.end();
  expect(await group.ended).toEqual({ kind: "exited", code: 7, signal: null });
  expect(out().equals(input)).toBe(true);
  expect(text("err")).toBe("thirdfourth");
});

it("shows that a program reads nothing, until it does or is gone", async () => {
  const { group, abort, text } = start('read go; echo "$go"; trap "" TERM; read go; exec <&-; sleep 3600');
  group.stdin.write("go\n");
  await vi.waitFor(() => expect(text("out")).toBe("go\n"), { timeout: 20_000 });
  while (!group.stdin.writableNeedDrain) {
    group.stdin.write(Buffer.alloc(100_000, "x"));
    await sleep(50);
  }
  expect(group.stdin.writableNeedDrain).toBe(true);
  const closed = once(group.stdin, "close");
  abort.abort();
  expect(await group.ended).toEqual({ kind: "stopped" });
  await closed;
});

it("says why it ended a program, or that it could not be started", async () => {
  expect(await start("kill -9 $$").group.ended).toEqual({ kind: "exited", code: null, signal: "SIGKILL" });
  const loud = start("yes", { maxOutputBytes: 1_000_000 });
  expect(await loud.group.ended).toEqual({ kind: "output-limit" });
  expect(loud.out().length).toBeLessThanOrEqual(1_000_000);
  const nowhere = new ProcessStarter().start({
    command: "/nowhere",
    args: [],
    cwd: "/",
    env: {},
    timeLimitMs: 60_000,
    maxOutputBytes: 1000,
    clock: createSystemClock(),
    signal: new AbortController().signal,
    onStdout: () => {},
    onStderr: () => {},
  });
  expect(await nowhere.started).toBeUndefined();
  expect(await nowhere.ended).toEqual({ kind: "not-started", problem: "spawn /nowhere ENOENT" });
});

it("ends a whole group at its time limit, by the service's clock", async () => {
  const clock = new ManualClock();
  const pausable = new PausableClock(clock, 600_000);
  const marker = `sleep 3599.${process.pid}`;
  const { group } = start(`${marker} & ${marker}`, { clock: pausable });
  await vi.waitFor(async () => expect((await processesOf(marker)).length).toBeGreaterThan(1), {
    timeout: 20_000,
  });
  const goOn = pausable.pause();
  clock.advance(120_000);
  expect(await processStat((await group.started) ?? 0)).toMatchObject({ isRunning: true });
  goOn();
  clock.advance(60_000);
  expect(await group.ended).toEqual({ kind: "time-limit" });
  expect(await processesOf(marker)).toEqual([]);
});

it("takes its programs along when it is killed itself, and says so", async () => {
  const marker = `sleep 3598.${process.pid}`;
  const { group } = start(`${marker}; echo`);
  const pid = await group.started;
  await vi.waitFor(async () => expect((await processesOf(marker)).length).toBeGreaterThan(0), {
    timeout: 20_000,
  });
  const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  expect(parent).not.toBe(process.pid);
  process.kill(parent, "SIGKILL");
  expect(await group.ended).toEqual({ kind: "exited", code: null, signal: "SIGKILL" });
  expect(await processesOf(marker)).toEqual([]);
});
