import type { PageEdits } from "./edit-page.ts";
import type { Edit } from "./spelling.ts";
import type { Understanding } from "./understanding.ts";

const MAX_SHOWN = 12;

/** The sentence with which the agent introduces itself. */
export const WHAT_I_AM = "I am a small rule-based program, not an AI.";
const WHAT_I_CAN =
  'I can correct common misspellings, repair broken relative links, and do "replace X with Y", ' +
  '"rename X to Y" and "change X to Y". Name a page to change only that one.';

/** Says how the agent understood the prompt, before it works. */
export function describeUnderstanding(understanding: Understanding): string {
  const asked = workOf(understanding);
  return asked === ""
    ? `${WHAT_I_AM} I didn't understand what to do.`
    : `${WHAT_I_AM} I understood: ${asked}.`;
}

/** Says what will be done and where. Returns an empty text if nothing was understood. */
export function workOf({ isSpelling, isLinks, replacements, addition, pages }: Understanding): string {
  const asked = [
    ...(addition === null ? [] : ["add what the message says"]),
    ...replacements.map(({ from, to }) => `replace "${from}" with "${to}"`),
    ...(isSpelling ? ["correct common misspellings"] : []),
    ...(isLinks ? ["repair broken relative links"] : []),
  ];
  const where = pages.length === 0 ? "all pages" : pages.join(", ");
  return asked.length === 0 ? "" : `${new Intl.ListFormat("en").format(asked)} in ${where}`;
}

/** The last message of a turn in which a person said no. */
export function declined(): string {
  return text("Nothing changed: I asked first, and the answer was no", WHAT_I_AM);
}

/** Writes the last message. Its first line can serve as a title. */
export function summarize(
  understanding: Understanding,
  edits: readonly PageEdits[],
  pages: readonly string[],
): string {
  const { isSpelling, isLinks, replacements, missingPage } = understanding;
  if (missingPage !== null) {
    return text(
      "Nothing changed: there is no such page",
      `You named "${missingPage}". There are: ${listOf(pages)}.`,
      WHAT_I_AM,
    );
  }
  if (!isSpelling && !isLinks && replacements.length === 0 && understanding.addition === null) {
    return text("Nothing changed: I didn't understand the request", WHAT_I_AM, WHAT_I_CAN);
  }
  const changed = edits.filter(isChanged);
  const left = edits.flatMap((page) => page.left.map((sentence) => `- ${page.path}: ${sentence}`));
  const notFound = replacements
    .filter(({ from }) => !changed.some((page) => page.replacements.some((edit) => edit.from === from)))
    .map(({ from }) => `- "${from}" was not found`);
  return text(
    understanding.asked !== null && changed.every(isOnlyTidied)
      ? sentence(workOf(understanding.asked))
      : titleOf(changed, edits),
    understanding.asked === null ? "" : whatChecksFound(changed),
    changed.map(describePage).join("\n"),
    left.length + notFound.length === 0 ? "" : `Not changed:\n${[...left, ...notFound].join("\n")}`,
    changed.length === 0 ? WHAT_I_AM : `${WHAT_I_AM} Please check what I did.`,
  );
}

/** What the checks found in the first round, as far as this one has mended it. */
function whatChecksFound(changed: readonly PageEdits[]): string {
  return [
    ...(changed.every(isOnlyTidied) ? [] : ["The project's check found broken links in my first changes."]),
    ...(changed.some(({ isTidied }) => isTidied)
      ? ["The project's check found words to you on the page. I took them out."]
      : []),
  ].join(" ");
}

function isOnlyTidied({ spelling, links, replacements, added }: PageEdits): boolean {
  return added === null && spelling.length + links.length + replacements.length === 0;
}

/** The last message of a turn about a review or failed checks. */
export function summarizeReview(edits: readonly PageEdits[]): string {
  const changed = edits.filter(isChanged);
  if (changed.length === 0) return text("Nothing changed: I understood none of it", WHAT_I_AM, WHAT_I_CAN);
  return text(
    titleOf(changed, edits),
    changed.map(describePage).join("\n"),
    `${WHAT_I_AM} Please check what I did.`,
  );
}

/** What is said of a comment: what was changed on its page, or why nothing was. */
export function commentAnswer(edits: PageEdits | null): string {
  if (edits === null) return `${WHAT_I_AM} I didn't understand this. ${WHAT_I_CAN}`;
  if (!isChanged(edits)) return `I found nothing of that in ${edits.path}.`;
  return `${editsOf(edits)}.`;
}

/** The last message of a turn that resolved conflicts in these pages. */
export function resolved(paths: readonly string[]): string {
  return text(
    `Resolve conflicts in ${paths.length === 1 ? paths.join("") : counted(paths.length, "page")}`,
    "I kept what the base branch has, and changed the same words again.",
    WHAT_I_AM,
  );
}

/** True if the page's text changed. */
export function isChanged(edits: PageEdits): boolean {
  return edits.isTidied || !isOnlyTidied(edits);
}

function titleOf(changed: readonly PageEdits[], looked: readonly PageEdits[]): string {
  const [first] = changed;
  if (!first) {
    const where = looked.length === 1 ? (looked[0]?.path ?? "") : counted(looked.length, "page");
    return `Nothing changed: I found nothing of that in ${where}`;
  }
  const total = (edits: (page: PageEdits) => Edit[]) =>
    changed.flatMap(edits).reduce((sum, { count }) => sum + count, 0);
  const spelling = total((page) => page.spelling);
  const links = total((page) => page.links);
  const pairs = new Map(
    changed.flatMap((page) => page.replacements.map(({ from, to }) => [from, to] as const)),
  );
  const did = [
    ...(changed.some(({ added }) => added !== null) ? ["add a paragraph"] : []),
    ...(pairs.size === 1
      ? [...pairs].map(([from, to]) => `replace "${short(from)}" with "${short(to)}"`)
      : []),
    ...(pairs.size > 1 ? [`replace ${counted(pairs.size, "term")}`] : []),
    ...(spelling > 0 ? [`correct ${counted(spelling, "misspelling")}`] : []),
    ...(links > 0 ? [`repair ${counted(links, "link")}`] : []),
  ].join(", ");
  const where = changed.length === 1 ? first.path : counted(changed.length, "page");
  return sentence(`${did} in ${where}`);
}

function describePage(page: PageEdits): string {
  return `- ${page.path}: ${editsOf(page)}`;
}

function editsOf({ spelling, links, replacements, added, isTidied }: PageEdits): string {
  const edits = [...replacements, ...spelling, ...links];
  const shown = edits
    .slice(0, MAX_SHOWN)
    .map(({ from, to, count }) => `${from} → ${to}${count > 1 ? ` (${count} times)` : ""}`);
  const more = edits.length > MAX_SHOWN ? `; and ${edits.length - MAX_SHOWN} more` : "";
  const all = [
    ...(added === null ? [] : ["a paragraph at the end"]),
    ...(isTidied ? ["words to you taken out"] : []),
    ...shown,
  ];
  return all.join("; ") + more;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

function listOf(pages: readonly string[]): string {
  const more = pages.length > 20 ? `, and ${pages.length - 20} more` : "";
  return pages.slice(0, 20).join(", ") + more;
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function short(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function text(...paragraphs: string[]): string {
  return paragraphs.filter((paragraph) => paragraph !== "").join("\n\n");
}
