import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { PausableClock } from "../../../src/service/runner/agents/pausable-clock.ts";
import { processStat } from "../../../src/service/runner/process-stat.ts";
import { ProcessStarter } from "../../../src/service/runner/starter/process-starter.ts";
import { orderGroup } from "../../../src/service/runner/starter/started-group.ts";
import type { StarterNews } from "../../../src/service/runner/starter/starter-calls.ts";
import { createSystemClock } from "../../../src/system-clock.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { processesOf } from "../../support/processes-of.ts";
import { openTempDir } from "../../support/temp-dir.ts";

/** Starts a shell script; `out` and `err` are what it wrote so far. */
function start(
  script: string,
  options: { maxOutputBytes?: number; clock?: ManualClock | PausableClock } = {},
  starter = new ProcessStarter(),
) {
  const abort = new AbortController();
  const written = { out: [] as Buffer[], err: [] as Buffer[] };
  const group = starter.start({
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

function parentOf(pid = 0): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** A program that nobody starts: `begin` gives the news of it that there is so far. */
function orderedBy(begin: (take: (news: StarterNews) => void) => void) {
  const abort = new AbortController();
  const { group, ...options } = orderGroup(
    1,
    {
      command: "agent",
      args: [],
      cwd: "/",
      env: {},
      timeLimitMs: 60_000,
      maxOutputBytes: 1000,
      clock: new ManualClock(),
      signal: abort.signal,
      onStdout: () => {},
      onStderr: () => {},
    },
    () => {},
  );
  begin(options.take);
  return { group, abort, options };
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
  const [agent, git] = [`sleep 3598.${process.pid}`, `sleep 3596.${process.pid}`];
  const starter = new ProcessStarter();
  const { group, abort } = start(`${agent}; echo`, {}, starter);
  const program = {
    command: "/bin/sh",
    args: ["-c", `${git}; echo`],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
  };
  const ran = starter.run(
    { ...program, stdin: "", timeLimitMs: 3_600_000, maxOutputBytes: 1000 },
    abort.signal,
  );
  ran.catch(() => {});
  const pid = await group.started;
  for (const marker of [agent, git]) {
    await expect.poll(() => processesOf(marker), { timeout: 20_000 }).not.toEqual([]);
  }
  const parent = parentOf(pid);
  expect(parent).not.toBe(process.pid);
  process.kill(parent, "SIGKILL");
  const problem = "The process that starts programs has ended.";
  await expect(ran).rejects.toMatchObject({ message: "The turn broke off.", details: [problem] });
  expect(await processesOf(git)).toEqual([]);
  expect(await group.ended).toEqual({ kind: "lost", problem });
  expect(await processesOf(agent)).toEqual([]);
});

it("takes its programs along when it hangs", async () => {
  const starter = new ProcessStarter({ askEveryMs: 2_000 });
  const marker = `sleep 3597.${process.pid}`;
  const { group } = start(`${marker}; echo`, {}, starter);
  const pid = await group.started;
  process.kill(parentOf(pid), "SIGSTOP");
  void group.stop();
  expect(await group.ended).toMatchObject({ kind: "lost" });
  expect(await processesOf(marker)).toEqual([]);
  // It is another one from now on.
  expect(await start("exit 7", {}, starter).group.ended).toMatchObject({ kind: "exited", code: 7 });
});

it("doesn't say that it stopped a program that has ended by itself", async () => {
  const { group, abort, options } = orderedBy((take) => {
    take({ kind: "started", id: 1, pid: process.pid });
    // As a program goes: what it leaves unread is known before its end.
    take({ kind: "closed-input", id: 1 });
  });
  const stopped = group.stop();
  options.take({ kind: "ended", id: 1, ending: { kind: "exited", code: 3, signal: null } });
  expect(await stopped).toEqual({ kind: "exited", code: 3, signal: null });
  abort.abort();
});

it("gives programs no file that the service was started with", async () => {
  await using dir = await openTempDir();
  const secret = dir.file("secret");
  await writeFile(secret, "a lock of the operator's");
  const program = fileURLToPath(new URL("../../support/files-of-a-program.ts", import.meta.url));
  const script = `exec 200>>"$1"; exec "$2" "$3"`;
  const { stdout } = await promisify(execFile)("bash", [
    "-c",
    script,
    "bash",
    secret,
    process.execPath,
    program,
  ]);
  const files = stdout.trim().split("\n");
  expect(files.length).toBeGreaterThan(2);
  expect(files).not.toContain(secret);
}, 60_000);
