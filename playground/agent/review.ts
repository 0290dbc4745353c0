import { posix } from "node:path";
import { anchorsIn, type BrokenAnchor } from "../anchors.ts";
import { editPage, type PageEdits } from "./edit-page.ts";
import { distanceOf } from "./links.ts";
import type { TurnOperations } from "./operations.ts";
import type { QuotedReview } from "./read-review.ts";
import type { Edit, WordList } from "./spelling.ts";
import { isAnything, understand } from "./understanding.ts";
import { commentAnswer, isChanged, summarizeReview } from "./words.ts";

type Place = { files: readonly string[]; pages: readonly string[]; words: WordList };

/**
 * Does what comments on lines and reviews say, as far as it understands them, and leads links to
 * the heading with the most similar name. Says what was done about each comment.
 */
export async function answerReview(
  { answersFile, comments, opinions, brokenAnchors }: QuotedReview,
  { files, pages, words }: Place,
  operations: TurnOperations,
): Promise<void> {
  const texts = new Map<string, { before: string; now: string }>();
  const textOf = async (path: string) => {
    const known = texts.get(path)?.now;
    if (known !== undefined) return known;
    const before = await operations.read(path);
    texts.set(path, { before, now: before });
    return before;
  };
  const done: PageEdits[] = [];
  const keep = (edits: PageEdits) => {
    const { before = edits.text } = texts.get(edits.path) ?? {};
    texts.set(edits.path, { before, now: edits.text });
    done.push(edits);
    return edits;
  };
  async function follow(said: string, path: string): Promise<PageEdits | null> {
    const understanding = understand(said, pages);
    if (!pages.includes(path) || !isAnything(understanding)) return null;
    return keep(editPage(path, await textOf(path), { ...understanding, pages: [path] }, words, files));
  }

  const answers: object[] = [];
  for (const { path, words: said } of comments) {
    const edits = await follow(said, path);
    const changed = edits !== null && isChanged(edits);
    answers.push({ comment: answers.length + 1, changed, words: commentAnswer(edits) });
  }
  for (const said of opinions) {
    const named = understand(said, pages).pages;
    for (const path of named.length === 0 ? pages : named) await follow(said, path);
  }
  for (const broken of brokenAnchors) {
    if (!pages.includes(broken.path) || !pages.includes(broken.page)) continue;
    const headings = anchorsIn(await textOf(broken.page));
    keep(withAnchor(broken, await textOf(broken.path), headings));
  }
  for (const [path, { before, now }] of texts) {
    if (now !== before) await operations.write(path, before, now);
  }
  if (answersFile !== null) await operations.writeAside(answersFile, JSON.stringify(answers));
  await operations.say(summarizeReview(byPage(done)));
}

/** Leads a page's links to a heading that isn't there to the one with the most similar name. */
function withAnchor(
  { path, page, anchor }: BrokenAnchor,
  text: string,
  headings: ReadonlySet<string>,
): PageEdits {
  const [nearest] = [...headings].toSorted(
    (one, other) => distanceOf(one, anchor) - distanceOf(other, anchor),
  );
  const links: Edit[] = [];
  const led = text.replaceAll(
    /(\]\(\s*<?)([^\s()<>#]*)#([^\s()<>]+)/g,
    (whole, start: string, file: string, to: string) => {
      const target = file === "" ? path : posix.join(posix.dirname(path), file);
      if (nearest === undefined || target !== page || to !== anchor) return whole;
      links.push({ from: `${file}#${to}`, to: `${file}#${nearest}`, count: 1 });
      return `${start}${file}#${nearest}`;
    },
  );
  return { path, text: led, spelling: [], links, replacements: [], added: null, isTidied: false, left: [] };
}

/** Joins all that was done to each page. */
function byPage(edits: readonly PageEdits[]): PageEdits[] {
  return [...Map.groupBy(edits, ({ path }) => path)].map(([path, all]) => ({
    path,
    text: all.at(-1)?.text ?? "",
    spelling: all.flatMap(({ spelling }) => spelling),
    links: all.flatMap(({ links }) => links),
    replacements: all.flatMap(({ replacements }) => replacements),
    added: all.find(({ added }) => added !== null)?.added ?? null,
    isTidied: all.some(({ isTidied }) => isTidied),
    left: all.flatMap(({ left }) => left),
  }));
}
