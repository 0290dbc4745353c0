import type { GitRunner } from "../workspace/git/git.ts";
import { readFiles, readSnapshot } from "../workspace/git/objects.ts";

/** Where GitHub looks for it, in this order and ignoring case. */
const FOLDERS = [".github/", "", "docs/"] as const;
const NAME = /^pull_request_template(?:\.(?:md|txt|markdown))?$/i;
/** It bounds what is done with the template, too. */
const MAX_BYTES = 20_000;

/** The repository's template for pull requests. Null if it has none, or it is too large. */
export async function readTemplate(git: GitRunner, commit: string): Promise<string | null> {
  const files = [...(await readSnapshot(git, commit)).values()];
  const [found] = FOLDERS.flatMap((folder) =>
    files.filter(({ path, mode }) => {
      const isThere = path.slice(0, folder.length).toLowerCase() === folder;
      return isThere && mode.startsWith("100") && NAME.test(path.slice(folder.length));
    }),
  );
  if (found === undefined) return null;
  const content = (await readFiles(git, commit, [found.path])).get(found.path);
  if (content === undefined || content.length > MAX_BYTES) return null;
  const text = content.toString("utf8");
  return text.trim() === "" || text.includes("\0") ? null : text;
}
