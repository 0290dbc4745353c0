import { execFile } from "node:child_process";
import { promisify } from "node:util";

const exec = promisify(execFile);
const IDENTITY = "Ana <ana@example.com>";

/**
 * Commits files in a bare repository, as somebody would who pushes them: onto a branch, or onto a
 * new one that starts at `from`. Without `from`, a missing branch starts anew. Resolves to the
 * commit. Rejects if there is no `from`, or the branch has commits that `from` hasn't. A working
 * copy would take twenty programs for it; this takes three.
 */
export async function commitTo(
  bare: string,
  branch: string,
  files: Readonly<Record<string, string>>,
  { message = `Change ${Object.keys(files).join(", ")}`, from }: { message?: string; from?: string } = {},
): Promise<string> {
  const git = (stdin: string, ...args: string[]) => {
    const env = { PATH: process.env["PATH"], HOME: bare, GIT_CONFIG_NOSYSTEM: "1" };
    const running = exec("git", ["-c", "safe.directory=*", "-C", bare, ...args], { env });
    // A git that reads nothing may have ended already.
    running.child.stdin?.on("error", () => {}).end(stdin);
    return running.then(({ stdout }) => stdout.trim());
  };
  const start = await git("", "for-each-ref", "--format=%(objectname)", `refs/heads/${from ?? branch}`);
  if (start === "" && from !== undefined) throw new Error(`There is no branch ${from} in ${bare}`);
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const commit = [
    `commit refs/heads/${branch}\nmark :1\n`,
    `committer ${IDENTITY} ${Math.floor(Date.now() / 1000)} +0000\n`,
    data(message),
    start === "" ? "" : `from ${start}\n`,
    // Git reads quotes, backslashes, tabs and line feeds as JSON writes them.
    ...Object.entries(files).map(([path, text]) => `M 100644 inline ${JSON.stringify(path)}\n${data(text)}`),
    "get-mark :1\n",
  ];
  return git(commit.join(""), "fast-import", "--quiet");
}
