import { HYGIENE_RULES, type HygieneRule } from "../../config/hygiene-rules.ts";
import { lineAt, type DocPage, readPage } from "./page.ts";
import type { Facts, Trace } from "./rule.ts";
import { RULES } from "./rules/index.ts";

/** A changed file. `before` is null if it is new, and `after` if it is gone. */
export type TextChange = { path: string; before: Uint8Array | null; after: Uint8Array | null };

/** What a change brings that no page should have. `says` is a sentence for people and agents. */
export type HygieneFinding = { rule: HygieneRule; path: string; line: number; says: string };

/** A change, what people said about it, and the rules that a project doesn't want. */
export type CheckedChange = { pages: readonly TextChange[]; facts: Facts; off: readonly HygieneRule[] };

type Placed = Trace & { page: DocPage };

/** Everything that a change brings anew, by page and line. What was there before isn't new. */
export function hygieneFindings({ pages, facts, off }: CheckedChange): HygieneFinding[] {
  const read = pages.map(({ path, before, after }) => ({
    before: before === null ? null : readPage(path, before),
    page: after === null ? null : readPage(path, after),
  }));
  const findings: HygieneFinding[] = [];
  for (const rule of HYGIENE_RULES.filter((each) => !off.includes(each))) {
    const find = RULES[rule];
    const on = (page: DocPage | null, was: DocPage | null): Placed[] =>
      page === null ? [] : find(page, was, facts).map((each) => ({ ...each, page }));
    const known = read.flatMap(({ before }) => on(before, null));
    const fresh = read.flatMap(({ page, before }) => on(page, before));
    for (const { page, at, says } of newOnes(fresh, known))
      findings.push({ rule, path: page.path, line: lineAt(page, at), says });
  }
  return findings.toSorted((one, other) => order(one.path, other.path) || one.line - other.line);
}

function order(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/**
 * Those that weren't there before. Text may have moved between pages. One whose text has only been
 * edited was there, too.
 */
function newOnes(fresh: readonly Placed[], known: readonly Placed[]): Placed[] {
  const counts = new Map<string, Placed[]>();
  for (const each of known) {
    const others = counts.get(each.key);
    if (others === undefined) counts.set(each.key, [each]);
    else others.push(each);
  }
  const rest = fresh.filter(({ key }) => counts.get(key)?.pop() === undefined);
  const gone = [...counts.values()].flat();
  return rest.filter((each) => {
    const at = gone.findIndex(({ page, key }) => page.path === each.page.path && isAlike(key, each.key));
    if (at >= 0) gone.splice(at, 1);
    return at < 0;
  });
}

function isAlike(one: string, other: string): boolean {
  const [words, others] = [wordsOf(one), wordsOf(other)];
  if (words.size === 0 || others.size === 0) return false;
  let shared = 0;
  for (const word of words) if (others.has(word)) shared += 1;
  return shared * 2 >= Math.max(words.size, others.size);
}

function wordsOf(text: string): Set<string> {
  return new Set(text.match(/[\p{L}\d]+/gu) ?? []);
}
