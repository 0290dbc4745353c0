// A process that has git run a command which doesn't end; its argument is in the command's line.
import { GitStarter } from "../../src/service/runner/git/git-starter.ts";

const { signal } = new AbortController();
const args = ["-c", `alias.wait=!sleep 3600; : ${process.argv[2] ?? ""}`, "wait"];
const common = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, timeLimitMs: 600_000, maxOutputBytes: 10_000 };
await new GitStarter().run({ ...common, args, stdin: "" }, signal);
