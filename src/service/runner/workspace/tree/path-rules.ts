import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { GitRunner } from "../git/git.ts";
import { readObjects, type Snapshot, type SnapshotEntry } from "../git/objects.ts";
import { isSafePath } from "./names.ts";

/** Put before a path, so that git doesn't interpret one that begins with a colon. */
const HERE = "./";

/** What `.gitattributes` say about a path: git's own words, or a text of theirs. */
type Attributes = Record<(typeof ASKED)[number], string>;

const ASKED = ["filter", "working-tree-encoding", "text", "crlf", "eol"] as const;
/** Of paths at once, so that the answer isn't larger than we take. */
const MAX_ASKED = 2000;
/** The values by which git says that there is no text. */
const NO_TEXT = new Set(["set", "unset", "unspecified", ""]);

/**
 * Returns those of `paths` that the repository's own ignore files ignore, as they are in the
 * snapshot. `scratch` is an empty folder of ours: git reads the files from there, and nothing from
 * the tree that the agent worked in.
 */
export async function ignoredPaths(
  git: GitRunner,
  snapshot: Snapshot,
  paths: readonly string[],
  scratch: string,
): Promise<Set<string>> {
  if (!(await layOut(git, snapshot, ".gitignore", paths, scratch))) return new Set();
  const ignored = await git.lines(["check-ignore", "--no-index", "-z", "--stdin"], {
    env: { GIT_WORK_TREE: scratch },
    cwd: scratch,
    stdin: listed(paths),
    // 1 means that none of them is ignored.
    okCodes: [0, 1],
  });
  return new Set(ignored.map((path) => path.slice(HERE.length)));
}

/** The same for `.gitattributes`: what they say about each of `paths`. */
export async function readAttributes(
  git: GitRunner,
  snapshot: Snapshot,
  paths: readonly string[],
  scratch: string,
): Promise<Map<string, Attributes>> {
  const found = new Map<string, Attributes>();
  const tree = join(scratch, "tree");
  if (!(await layOut(git, snapshot, ".gitattributes", paths, tree))) return found;
  // The attributes of our mirror would come before those.
  const gitDir = join(scratch, "own.git");
  await mkdir(gitDir, { recursive: true });
  const own = { GIT_DIR: gitDir };
  await git.run(["init", "--bare", "--quiet", "--template="], { env: own, cwd: gitDir });
  for (let from = 0; from < paths.length; from += MAX_ASKED) {
    const answer = await git.run(["check-attr", "-z", "--stdin", ...ASKED], {
      env: { ...own, GIT_WORK_TREE: tree },
      cwd: tree,
      stdin: listed(paths.slice(from, from + MAX_ASKED)),
    });
    const words = answer.toString("utf8").split("\0");
    for (let at = 0; at + 2 < words.length; at += 3) {
      const [path = "", name = "", value = ""] = words.slice(at, at + 3);
      const key = path.slice(HERE.length);
      found.set(key, { ...(found.get(key) ?? NOTHING), [name]: value });
    }
  }
  return found;
}

const NOTHING: Attributes = {
  filter: "unspecified",
  "working-tree-encoding": "unspecified",
  text: "unspecified",
  crlf: "unspecified",
  eol: "unspecified",
};

/**
 * The name of what changes a file's bytes when people commit it: a filter, or `encoding`. Null if
 * nothing does. A filter on what is said to be text only tidies it, but for Git LFS.
 */
export function filterOf(attributes: Attributes | undefined): string | null {
  const { filter, "working-tree-encoding": encoding, text } = attributes ?? NOTHING;
  if (!NO_TEXT.has(filter) && (filter === "lfs" || text !== "set")) return filter;
  return NO_TEXT.has(encoding) || /^utf-?8$/i.test(encoding) ? null : "encoding";
}

/** What git does with the line ends of a page that people add (`convert.c`: `convert_attrs`). */
export function storedEndsOf(attributes: Attributes | undefined): "text" | "as-is" | null {
  const { text, crlf, eol } = attributes ?? NOTHING;
  const said = text === "unspecified" ? crlf : text;
  if (said === "unset") return "as-is";
  return said === "set" || said === "auto" || said === "input" || !NO_TEXT.has(eol) ? "text" : null;
}

const LFS_POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-[^\n]*\n)*oid sha256:[0-9a-f]{64}\nsize \d+\n$/;

/** True if Git LFS would commit a file with this content as it is. */
export function isLfsPointer(content: Buffer | null): boolean {
  return content !== null && (content.length === 0 || LFS_POINTER.test(content.toString("latin1")));
}

function listed(paths: readonly string[]): string {
  return paths.map((path) => `${HERE}${path}\0`).join("");
}

/** Writes a commit's files of this name into a folder of ours. False if there are none to ask. */
async function layOut(
  git: GitRunner,
  snapshot: Snapshot,
  name: string,
  paths: readonly string[],
  folder: string,
): Promise<boolean> {
  const isRule = ({ path, mode }: SnapshotEntry) =>
    (path === name || path.endsWith(`/${name}`)) && mode.startsWith("100") && isSafePath(path);
  const rules = paths.length === 0 ? [] : [...snapshot.values()].filter(isRule);
  const oids = rules.map(({ oid }) => oid);
  for (const [index, content] of (await readObjects(git, oids)).entries()) {
    const file = join(folder, rules[index]?.path ?? "");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  return rules.length > 0;
}
