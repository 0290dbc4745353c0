import { Git } from "../../world/code-host/git.ts";

const IDENTITY = "Ana <ana@example.com>";

/**
 * Commits files in a bare repository, like a person who pushes them: to a branch, or to a new
 * branch that starts at `from`. A missing branch without `from` starts anew. Resolves to the
 * commit. Rejects if `from` doesn't exist, or if the branch has commits that `from` doesn't have.
 * It starts three programs. With a working copy it would be twenty.
 */
export async function commitTo(
  bare: string,
  branch: string,
  files: Readonly<Record<string, string>>,
  { message = `Change ${Object.keys(files).join(", ")}`, from }: { message?: string; from?: string } = {},
): Promise<string> {
  const git = new Git(bare, process.env["PATH"]);
  const at = `--git-dir=${bare}`;
  const listed = ["for-each-ref", "--format=%(objectname)", `refs/heads/${from ?? branch}`];
  const start = (await git.run([at, ...listed])).trim();
  if (start === "" && from !== undefined) throw new Error(`There is no branch ${from} in ${bare}`);
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const commit = [
    `commit refs/heads/${branch}\nmark :1\n`,
    `committer ${IDENTITY} ${Math.floor(Date.now() / 1000)} +0000\n`,
    data(message),
    start === "" ? "" : `from ${start}\n`,
    // Git reads quotes, backslashes, tabs and line feeds in the form in which JSON writes them.
    ...Object.entries(files).map(([path, text]) => `M 100644 inline ${JSON.stringify(path)}\n${data(text)}`),
    "get-mark :1\n",
  ];
  return (await git.run([at, "fast-import", "--quiet"], { input: commit.join("") })).trim();
}
