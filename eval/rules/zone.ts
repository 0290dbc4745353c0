import { changedPaths, type Files, textOf } from "../files.ts";
import { isPage, localeOf } from "../page/blocks.ts";
import { isSame, type Quantity, quantitiesIn } from "../page/quantities.ts";
import { codeTokens, isKnown } from "../page/tokens.ts";
import { CURL_OPTIONS } from "./commands.ts";
import { laidFiles, type LaidFile } from "./laid-files.ts";
import { listed, type Problem, type Solved } from "./solved.ts";

/** What a task lets a solution do beyond what its reference does. */
export type ZoneRules = {
  /** True of a path, a block or a sentence that may change, come or go. */
  isFree: (text: string) => boolean;
  /** The number of blocks that may be added beyond the reference's, where it changes something. */
  adds: number;
};

/**
 * What the reference leaves alone stands, in its order. At most as many blocks are added as the
 * task allows, and new names of code, numbers and addresses stand in the repository, a context, the
 * request or the reference.
 */
export function zoneProblem(solved: Solved, { isFree, adds }: ZoneRules): Problem {
  const { before, after, reference } = solved;
  if (reference === null) return null;
  const meant = new Set(changedPaths(before, reference));
  const stray = changedPaths(before, after).filter(
    (path) =>
      !meant.has(path) && !isFree(path) && (!before.has(path) || !after.has(path) || isData(path, solved)),
  );
  const files = laidFiles(solved).filter(
    ({ path, isOf }) => isOf !== "reference" && after.has(path) && !isFree(path),
  );
  const lost = files.flatMap(({ path, lost: blocks }) =>
    blocks.filter(({ form }) => !isFree(form)).map(({ form }) => `${path}: ${form}`),
  );
  const added = files.flatMap((file) => addedBlocks(file, isFree));
  const stayed = added.filter(({ isMeant }) => !isMeant).map(({ block }) => block);
  const more = added.filter(({ isMeant }) => isMeant).map(({ block }) => block);
  const known = knownIn(solved);
  const foreign = files.flatMap((file) => foreignTokens(file, known, isFree));
  return (
    listed("Files that the task isn't about:", stray) ??
    listed("What had to stay is changed, gone or moved:", lost) ??
    listed("Added, where nothing has to change:", stayed) ??
    (more.length > adds ? listed(`Added, where the task allows ${adds}:`, more) : null) ??
    listed("It stands in no source:", foreign)
  );
}

/** True of a file without text. What is new in one can't be judged. */
function isData(path: string, { before, after }: Solved): boolean {
  return [before, after].some((files) => files.has(path) && textOf(files.get(path)) === null);
}

/** Where the reference brings all that is there, a solution may have half as much more. */
const NEW_SHARE = 1.5;
const NEW_SPARE = 2;

/** Pages that are read by their lines. How many lines a text takes is up to the solution. */
const LINED = /\.(?:adoc|asciidoc|rst)$/i;

/** A block that a solution adds, and whether the reference changes something in its place. */
type Added = { block: string; isMeant: boolean };

function addedBlocks({ path, segments }: LaidFile, isFree: (text: string) => boolean): Added[] {
  const isLined = LINED.test(path);
  if (!isPage(path) && !isLined) return [];
  return segments.flatMap(({ before, reference, after }) => {
    if (isLined && before.length + reference.length > 0) return [];
    const isNew = before.length === 0 && reference.length > 0;
    const room = isNew
      ? Math.ceil(NEW_SHARE * reference.length) + NEW_SPARE
      : Math.max(before.length, reference.length);
    const counted = after.filter(({ form }) => !isFree(form));
    const isMeant = before.length + reference.length > 0;
    return counted.slice(room).map(({ form }) => ({ block: `${path}: ${form}`, isMeant }));
  });
}

/** What may be written, because it is known. */
type Known = { text: string; numbers: ReadonlySet<number>; quantities: readonly Quantity[] };

/** The same for each solution of a task. */
const knownOf = new WeakMap<Files, Omit<Known, "quantities">>();

function knownIn({ before, reference, contexts, told }: Solved): Known {
  const inReference = [...(reference ?? [])].filter(
    ([path, content]) => before.get(path)?.equals(content) !== true,
  );
  const textsOf = (files: Iterable<[string, Buffer]>) =>
    [...files].map(([path, content]) => `${path}\n${textOf(content) ?? ""}`);
  let known = knownOf.get(before);
  if (known === undefined) {
    const text = [told, ...textsOf(before), ...[...contexts.values()].flatMap(textsOf)].join("\n");
    known = { text, numbers: numbersIn(text) };
    knownOf.set(before, known);
  }
  const more = textsOf(inReference).join("\n");
  return {
    text: `${known.text}\n${more}`,
    numbers: new Set([...known.numbers, ...numbersIn(more)]),
    quantities: [
      ...inReference.flatMap(([path, content]) => quantitiesIn(textOf(content) ?? "", localeOf(path))),
      ...quantitiesIn(told),
    ],
  };
}

function numbersIn(text: string): Set<number> {
  const digits = text.match(/\d[\d.,_]*/g) ?? [];
  return new Set(
    digits.flatMap((each) => [
      Number(each.replace(/[,_]|\.$/g, "")),
      Number(each.replace(/[._]|,$/g, "").replace(",", ".")),
    ]),
  );
}

/** Small numbers in words count nothing that has to be known. */
const SMALL = 12;

function foreignTokens(
  { path, segments }: LaidFile,
  known: Known,
  isFree: (text: string) => boolean,
): string[] {
  const after = segments.flatMap((segment) => segment.after);
  const old = new Set(segments.flatMap(({ before }) => before.flatMap(codeTokens)));
  const locale = localeOf(path);
  return after
    .filter(({ form }) => !isFree(form))
    .flatMap((block) => [
      ...codeTokens(block).filter(
        (token) =>
          !old.has(token) && !CURL_OPTIONS.has(token) && !isKnown(token, known.text) && !isFree(token),
      ),
      ...quantitiesIn(block.visible, locale)
        .filter((quantity) => !isKnownNumber(quantity, known) && !isFree(quantity.text))
        .map(({ text }) => text),
    ])
    .map((token) => `${path}: ${token}`);
}

function isKnownNumber(quantity: Quantity, { numbers, quantities }: Known): boolean {
  const written = Number(/^\d[\d.,_]*/.exec(quantity.text)?.[0].replace(/[,_]|\.$/g, ""));
  if (numbers.has(written) || numbers.has(quantity.value)) return true;
  if (quantity.dimension === "plain" && /^\p{L}/u.test(quantity.text) && quantity.value <= SMALL) return true;
  return quantities.some((other) => isSame(quantity, other));
}
