import picomatch from "picomatch";
import { DEFAULT_DOCS_GLOBS } from "../../src/service/config/config-schema.ts";
import type { HygieneRule } from "../../src/service/config/hygiene-rules.ts";
import { hygieneFindings } from "../../src/service/runner/hygiene/hygiene.ts";
import { isReadAsText } from "../../src/service/runner/workspace/git/changed-pages.ts";
import { blobsIn } from "../git.ts";
import { checkDay, numberFrom } from "../settings.ts";
import { keepHistory, type Landed, landedSince } from "./history.ts";
import { screened } from "./screen.ts";

/** The options of `npm run eval -- hygiene`. */
export type HygieneOptions = {
  repository: string;
  since: string;
  limit: string;
  out: string;
  json?: boolean;
};

/** What hygiene finds in a commit that people merged. */
type Found = { commit: string; path: string; line: number; rule: HygieneRule; says: string };

const SHORT = 10;
/** Nobody merges these by reading them, so they tell nothing. */
const UNREAD = new Set(["bot", "release", "merge", "revert", "no-docs"]);
const isDocs = picomatch(DEFAULT_DOCS_GLOBS, { dot: true });

/**
 * Runs the rules of hygiene on the newest commits of documentation in a repository's history, and
 * prints each finding. People merged them, so most findings should be faults that nobody saw.
 */
export async function checkHistory({ repository, since, limit, out, json }: HygieneOptions): Promise<void> {
  checkDay("--since", since);
  const gitDir = await keepHistory(repository, out);
  const most = numberFrom("--limit", limit, { whole: true });
  const landed = await landedSince(gitDir, since);
  const commits = landed.filter((each) => !UNREAD.has(screened(each, isDocs) ?? "")).slice(0, most);
  const found: Found[] = [];
  for (const commit of commits) found.push(...(await findingsOf(gitDir, commit)));
  const count = new Set(found.map(({ commit }) => commit)).size;
  if (json === true) {
    const all = { commits: commits.length, commitsWithFindings: count, findings: found };
    process.stdout.write(`${JSON.stringify(all, null, 2)}\n`);
    return;
  }
  for (const { commit, path, line, rule, says } of found)
    process.stdout.write(`${commit.slice(0, SHORT)} ${path}:${line} ${rule}: ${says}\n`);
  process.stdout.write(`${count} of ${commits.length} commits have a finding.\n`);
}

async function findingsOf(gitDir: string, { id, files }: Landed): Promise<Found[]> {
  const read = files.filter(({ path }) => isReadAsText(path));
  const ids = read.flatMap(({ before, after }) => [before ?? [], after ?? []].flat());
  const contents = await blobsIn(gitDir, ids);
  const textOf = (object: string | null) => (object === null ? null : (contents.get(object) ?? null));
  const pages = read.map(({ path, before, after }) => ({
    path,
    before: textOf(before),
    after: textOf(after),
  }));
  const facts = { words: "", quotedNames: [] };
  return hygieneFindings({ pages, facts, off: [] }).map((finding) => ({ commit: id, ...finding }));
}
