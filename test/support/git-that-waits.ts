// A process that has git run a command which doesn't end; its argument is in the command's line.
import { ProcessStarter } from "../../src/service/runner/starter/process-starter.ts";

const { signal } = new AbortController();
const args = ["-c", `alias.wait=!sleep 3600; : ${process.argv[2] ?? ""}`, "wait"];
const common = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, timeLimitMs: 600_000, maxOutputBytes: 10_000 };
await new ProcessStarter().run({ ...common, command: "git", args, stdin: "" }, signal);
