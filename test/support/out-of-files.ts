// A process without free file descriptors. It writes one line for each program that it then tries
// to start, and says how that ended.
import { openSync } from "node:fs";
import { startProcessGroup } from "../../src/service/runner/workspace/process-group.ts";
import { runProgram } from "../../src/service/runner/workspace/process-group.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";

const { signal } = new AbortController();
const common = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, timeLimitMs: 20_000, maxOutputBytes: 10_000 };
const runGit = () => runProgram({ ...common, command: "git", args: ["--version"], stdin: "" }, signal);

async function runTrue(): Promise<string> {
  const group = startProcessGroup({
    ...common,
    command: "true",
    args: [],
    inputs: [Buffer.from("x")],
    clock: createSystemClock(),
    signal,
    onStdout: () => {},
    onStderr: () => {},
  });
  group.stdin.end("x");
  return JSON.stringify([await group.ended, await group.stop()]);
}

console.log(JSON.stringify((await runGit()).ending), await runTrue());
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  console.log(JSON.stringify((await runGit()).ending));
  console.log(await runTrue());
}
process.exit();
