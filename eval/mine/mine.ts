import picomatch from "picomatch";
import { filesAt } from "../at-commit.ts";
import { blobsIn } from "../git.ts";
import { derived } from "./derive.ts";
import { fixedAgain } from "./fixed-again.ts";
import type { Landed } from "./history.ts";
import type { Issues } from "./issues.ts";
import { isInCode, isSaid, textsIn, type Texts } from "./known.ts";
import { type MinedTask, minedTask } from "./mined-task.ts";
import type { ChangedPage, PlaceKind } from "./places.ts";
import { doubtOf } from "./prove.ts";
import { linkedTo, messageWords, type Request, toldRequest } from "./request.ts";
import { isDocsPage, type Reason, screened } from "./screen.ts";
import { askedFor, type Found, foundIn, kindOf } from "./select.ts";

/** The kinds in the order in which they are taken, each with the largest share that it may be. */
const ORDER: readonly (readonly [kinds: readonly PlaceKind[], share: number])[] = [
  [["fact", "sample"], 1],
  [["words"], 0.25],
  [["link"], 0.15],
];
/** Of the tasks that are enough, so many are facts and samples. */
const FIRST_SHARE = 0.6;

/** What became of a commit: a task, or the reason why not. */
export type Seen = { id: string; subject: string; reason: Reason | null; says: string };

export type Mine = {
  /** The name and the place of the history's copy. */
  name: string;
  gitDir: string;
  /** The patterns of the files that are documentation. */
  docs: readonly string[];
  issues: Issues;
  /** The number of tasks that is enough. */
  limit: number;
  /** Called with each task that is kept. */
  onTask: (task: MinedTask) => Promise<void>;
  onLine: (line: string) => void;
};

/** A commit that may be a task. */
type Candidate = { commit: Landed; pages: ChangedPage[]; found: Found; request: Request };

/**
 * Makes tasks of the commits, the newest first. Resolves to what became of each. Rejects with an
 * `EvalOptionError` if git or the issues can't be read.
 */
export async function mine(commits: readonly Landed[], options: Mine): Promise<Seen[]> {
  const { limit, onLine, onTask } = options;
  const seen = new Map<string, Seen>();
  const drop = ({ id, subject }: Landed, reason: Reason, says = "") =>
    seen.set(id, { id, subject, reason, says });
  const candidates: Candidate[] = [];
  const isDocs = picomatch([...options.docs], { dot: true });
  for (const [nth, commit] of commits.entries()) {
    if (nth > 0 && nth % 500 === 0)
      onLine(`Read ${nth} of ${commits.length} commits: ${candidates.length} may be tasks.`);
    const candidate = screened(commit, isDocs) ?? (await candidateOf(commit, commits, isDocs, options));
    if (typeof candidate === "string") drop(commit, candidate);
    else candidates.push(candidate);
  }
  const kept: MinedTask[] = [];
  for (const [kinds, share] of ORDER) {
    const ofKind = () => kept.filter(({ file }) => kinds.some((kind) => kind === file.kind)).length;
    for (const candidate of candidates.filter(({ found }) => kinds.includes(found.kind))) {
      const { commit } = candidate;
      const most = share === 1 ? Math.ceil(FIRST_SHARE * limit) : Math.max(1, share * (kept.length + 1));
      if (kept.length >= limit || ofKind() + 1 > most) {
        drop(commit, "surplus");
        continue;
      }
      const task = await taskOf(candidate, options);
      const doubt = await doubtOf(task.judged);
      if (doubt !== null) {
        drop(commit, doubt.reason, doubt.says);
        continue;
      }
      kept.push(task);
      await onTask(task);
      onLine(`${task.name}: ${task.file.kind}, ${commit.subject}`);
      seen.set(commit.id, { id: commit.id, subject: commit.subject, reason: null, says: "" });
    }
  }
  return commits.flatMap(({ id }) => seen.get(id) ?? []);
}

/** A commit with its pages and its request, or why it can't be a task. */
async function candidateOf(
  commit: Landed,
  commits: readonly Landed[],
  isDocs: (path: string) => boolean,
  { gitDir, issues }: Mine,
): Promise<Candidate | Reason> {
  const pages = await pagesOf(commit, gitDir);
  const found = foundIn(pages);
  if (typeof found === "string") return found;
  if (await fixedAgain(commit, found, pages, commits, gitDir)) return "fixed-again";
  const { issue, pull } = await linkedTo(commit, issues);
  let texts: Texts | null = null;
  const files = await filesAt(gitDir, commit.parent);
  const textsOnce = () => (texts ??= textsIn(files, isDocs));
  const request =
    issue === null
      ? told(pull ?? messageWords(commit), found, textsOnce)
      : { from: "issue" as const, words: issue, text: issue };
  const places = askedFor(found, request, pages, textsOnce);
  if (typeof places === "string") return places;
  return { commit, pages, request, found: { ...found, places, kind: kindOf(places) } };
}

/** What is told, without what the code says, too. */
function told(words: string, { places }: Found, texts: () => Texts): Request {
  const said = places.flatMap((place) => place.brought.map((token) => ({ place, token })));
  const found = said.filter(({ token, place }) => isSaid(token, words, place));
  const paths = [...new Set(places.map(({ path }) => path))];
  const inCode = found.filter(({ place, token }) => isInCode(token, place, "", texts()));
  return toldRequest(
    words,
    paths,
    inCode.map(({ token }) => token),
  );
}

async function pagesOf({ files }: Landed, gitDir: string): Promise<ChangedPage[]> {
  const changed = files.filter(({ path }) => isDocsPage(path));
  const ids = changed.flatMap(({ before, after }) => [before ?? "", after ?? ""]);
  const contents = await blobsIn(gitDir, ids);
  const textOfBlob = (id: string | null) => contents.get(id ?? "")?.toString() ?? "";
  return changed.map(({ path, before, after }) => ({
    path,
    before: textOfBlob(before),
    after: textOfBlob(after),
  }));
}

async function taskOf(
  { commit, pages, found, request }: Candidate,
  { gitDir, name, docs }: Mine,
): Promise<MinedTask> {
  const base = await filesAt(gitDir, commit.parent);
  const others = commit.files.filter(({ path }) => !isDocsPage(path));
  const contents = await blobsIn(
    gitDir,
    others.flatMap(({ after }) => after ?? []),
  );
  const right = new Map<string, Buffer>(base);
  for (const { path, after } of pages) right.set(path, Buffer.from(after));
  for (const { path, after } of others) {
    const content = contents.get(after ?? "");
    if (content !== undefined) right.set(path, content);
    else right.delete(path);
  }
  const checks = derived(found, pages, textsIn(base, picomatch([...docs], { dot: true })));
  return minedTask({ commit, found, request, checks, base, right, name, docs, gitDir });
}
