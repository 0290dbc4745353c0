// @module-tag all

import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import {
  allPids,
  killGroup,
  processStat,
  type ProcessOptions,
  startProcessGroup,
} from "../../../src/service/runner/workspace/process-group.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { PATIENT } from "../../support/patient.ts";

/** Runs a shell script in a group of its own; `line` is the first line that it writes. */
async function start(script: string) {
  const child = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const end = () => void child.kill("SIGKILL");
  return { child, line, [Symbol.dispose]: end };
}

it("kills all of a group, also what ignores SIGTERM", async () => {
  using group = await start(`trap "" TERM; (sleep 3600 & wait) & sleep 3600 & echo ready; wait`);
  const pid = group.child.pid ?? 0;
  const running = async () =>
    (await Promise.all((await allPids()).map(processStat))).filter(
      (stat) => stat?.group === pid && stat.isRunning,
    ).length;
  // Two shells and what each has started: the inner one may start it after the line was written.
  await vi.waitFor(async () => expect(await running()).toBe(4), { timeout: 15_000 });
  await killGroup(pid);
  expect(await running()).toBe(0);
});

it("knows that a process has ended although nobody has reaped it", async () => {
  // "sleep" never asks how its children ended.
  using parent = await start(`setsid sh -c 'echo $$' & exec sleep 3600`);
  const unreaped = Number(parent.line);
  await vi.waitFor(async () => expect(await processStat(unreaped)).toMatchObject({ isRunning: false }), {
    timeout: 15_000,
  });
  // For signals its group is still there: whoever waits until it is not waits for ever.
  expect(process.kill(-unreaped, 0)).toBe(true);
  await killGroup(unreaped);
  expect(parent.child.exitCode).toBeNull();
});

it("doesn't say that it stopped a process that has ended by itself", async () => {
  const group = startProcessGroup({
    command: "/bin/sh",
    // What left the group holds the output open for a moment, and its end is awaited meanwhile.
    args: ["-c", "setsid sleep 3 & exit 3"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    timeLimitMs: 60_000,
    maxOutputBytes: 1000,
    clock: new ManualClock(),
    signal: new AbortController().signal,
    onStdout: () => {},
    onStderr: () => {},
  });
  const pid = group.pid ?? 0;
  await vi.waitFor(async () => expect(await processStat(pid)).toBeNull(), { timeout: 20_000, interval: 5 });
  expect(await group.stop()).toEqual({ kind: "exited", code: 3, signal: null });
});

it("says so when a process can't be started because no more files can be opened", async () => {
  const child = fileURLToPath(new URL("../../support/out-of-files.ts", import.meta.url));
  const args = ["--nofile=64", process.execPath, child];
  const { stdout } = await promisify(execFile)("prlimit", args, { timeout: 60_000 });
  const exited = '{"kind":"exited","code":0,"signal":null}';
  const notStarted = expect.stringMatching(
    /^\{"kind":"not-started","problem":"spawn \S*\s?EMFILE"\}$/,
  ) as string;
  const [before, git, group] = stdout.trim().split("\n");
  expect(before).toBe(`${exited} [${exited},${exited}]`);
  expect(git).toEqual(notStarted);
  expect((JSON.parse(group ?? "[]") as unknown[]).map((ending) => JSON.stringify(ending))).toEqual([
    notStarted,
    notStarted,
  ]);
}, 60_000);

/** Runs a shell script by `startProcessGroup`. */
function run(script: string, onStdout: ProcessOptions["onStdout"], onStderr: (chunk: Buffer) => void) {
  const abort = new AbortController();
  const group = startProcessGroup({
    command: "/bin/sh",
    args: ["-c", script],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    inputs: [Buffer.from("third")],
    timeLimitMs: 60_000,
    maxOutputBytes: 10_000_000,
    clock: new ManualClock(),
    signal: abort.signal,
    onStdout,
    onStderr,
  });
  return { group, abort };
}

it("brings a program its input, and all of its output before its end", async () => {
  const input = randomBytes(3_000_000);
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  const { group } = run(
    "cat; cat <&3 >&2; exit 7",
    (chunk) => void out.push(chunk),
    (chunk) => err.push(chunk),
  );
  group.stdin.end(input);
  expect(await group.ended).toEqual({ kind: "exited", code: 7, signal: null });
  expect(Buffer.concat(out).equals(input)).toBe(true);
  expect(Buffer.concat(err).toString()).toBe("third");
});

it("reads no more of a program than is taken", async () => {
  const taken: (() => void)[] = [];
  const takeLater = () => new Promise<void>((resolve) => taken.push(resolve));
  const { group, abort } = run("yes", takeLater, () => {});
  for (let chunks = 1; chunks <= 3; chunks += 1) {
    await vi.waitFor(() => expect(taken).toHaveLength(chunks), PATIENT);
    for (let turn = 0; turn < 200; turn += 1) await setImmediate();
    expect(taken).toHaveLength(chunks);
    taken.at(-1)?.();
  }
  abort.abort();
  expect(await group.ended).toEqual({ kind: "stopped" });
});

it("gives programs no file that the service was started with", async () => {
  await using dir = await openTempDir();
  const secret = dir.file("secret");
  await writeFile(secret, "a lock of the operator's");
  const program = fileURLToPath(new URL("../../support/files-of-a-program.ts", import.meta.url));
  const script = `exec 200>>"$1"; exec "$2" "$3"`;
  const args = ["-c", script, "bash", secret, process.execPath, program];
  const { stdout } = await promisify(execFile)("bash", args);
  const files = stdout.trim().split("\n");
  expect(files.length).toBeGreaterThan(2);
  expect(files).not.toContain(secret);
}, 60_000);
