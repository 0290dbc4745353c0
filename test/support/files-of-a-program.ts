// Prints the open files of a program that is started like git and agents.
import { closeInheritedFiles } from "../../src/service/runner/process/inherited-files.ts";
import { runProgram } from "../../src/service/runner/workspace/process-group.ts";

closeInheritedFiles();
const { signal } = new AbortController();
const common = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, timeLimitMs: 60_000, maxOutputBytes: 10_000 };
const script = "for file in /proc/$$/fd/*; do readlink $file; done";
const program = { ...common, command: "/bin/sh", args: ["-c", script], stdin: "" };
const { stdout } = await runProgram(program, signal);
process.stdout.write(stdout);
process.exit();
