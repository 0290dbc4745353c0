import { spawn } from "node:child_process";
import { EvalOptionError } from "./settings.ts";

const TIME_LIMIT_MS = 600_000;

/**
 * Runs a git command, and resolves to what it prints. Its progress goes on to standard error if
 * `isShown`. Rejects with an {@link EvalOptionError} that has git's last line.
 */
export async function git(args: readonly string[], stdin = "", isShown = false): Promise<Buffer> {
  const child = spawn("git", args, {
    stdio: ["pipe", "pipe", isShown ? "inherit" : "pipe"],
    timeout: TIME_LIMIT_MS,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const out: Buffer[] = [];
  let said = "";
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-2000)));
  // Git may end before it has read everything.
  child.stdin?.on("error", () => {});
  child.on("error", reject);
  child.on("close", (code) => {
    if (code === 0) resolve(Buffer.concat(out));
    else reject(new EvalOptionError(`git ${args.at(0)}: ${said.trim().split("\n").at(-1) || "it failed"}`));
  });
  child.stdin?.end(stdin);
  return promise;
}

/** The contents of objects. An object that isn't there, as in a partial clone, is left out. */
export async function blobsIn(gitDir: string, ids: readonly string[]): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  if (ids.length === 0) return found;
  const said = await git(["--git-dir", gitDir, "cat-file", "--batch"], `${ids.join("\n")}\n`);
  for (let at = 0; at < said.length;) {
    const end = said.indexOf("\n", at);
    const [id = "", type = "", size = ""] = said.toString("utf8", at, end).split(" ");
    at = end + 1;
    if (type !== "blob") {
      if (size !== "") at += Number(size) + 1;
      continue;
    }
    found.set(id, Buffer.from(said.subarray(at, at + Number(size))));
    at += Number(size) + 1;
  }
  return found;
}
