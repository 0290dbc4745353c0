import { anyEnding, PAGE_ENDINGS } from "../../src/service/base/page-endings.ts";
import type { Landed } from "./history.ts";

/** Why a commit becomes no task, in the order in which this is looked at. */
export const REASONS = {
  bot: "A program made it.",
  release: "It releases a version.",
  merge: "It brings branches together.",
  revert: "It takes another commit back.",
  "no-docs": "It changes no documentation.",
  "code-too": "It changes other files, too, so what the docs should say isn't there before.",
  moves: "It adds, removes or moves pages.",
  "no-page": "It changes no page, only pictures or data.",
  pictures: "It changes pictures, too.",
  history: "It changes only changelogs or release notes.",
  translation: "It changes only translations.",
  large: "It changes more pages or lines than a person asks for.",
  layout: "It changes only how the pages are laid out.",
  addition: "It only adds, or only takes away, what nobody could foresee.",
  prose: "It only words something anew, which no rule can judge.",
  "says-too-little": "Neither issue nor message says what is wrong, or where.",
  unknowable: "What it brings stands nowhere before: not in the request, the docs or the code.",
  "fixed-again": "The same lines were changed again within 90 days.",
  unchanged: "The page passes as it was.",
  refused: "What was merged doesn't pass.",
  lax: "More than two kinds of damage pass.",
  strict: "A neutral variant of what was merged doesn't pass, or there are fewer than three.",
  surplus: "There are enough tasks of its kind.",
} as const satisfies Readonly<Record<string, string>>;
export type Reason = keyof typeof REASONS;

/** More pages or lines than this are more than one request. */
const MAX_PAGES = 5;
export const MAX_LINES = 40;

const PAGE = anyEnding(PAGE_ENDINGS);
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif|svg|mp4|webm)$/i;
const BOT = /\[bot\]|(?<!\p{L})bot(?!\p{L})|github-actions|renovate|dependabot|greenkeeper|actions-user/iu;
const BOT_WORDS = /^\[[\w-]*bot\]|^chore\(deps|^(?:build|fix)\(deps|^⬆|\bauto-?generated\b/i;
const RELEASE = new RegExp(
  [
    String.raw`^(?:chore: |chore\(release\): )?(?:release|publish)\b[: ]`,
    String.raw`^🔖|^v?\d+\.\d+(?:\.\d+)?\S*$|^bump(?:ed)? version`,
    "^(?:📝 )?(?:update|add) (?:the )?(?:changelog|release notes)",
  ].join("|"),
  "i",
);
const MERGE = /^Merge (?:remote-tracking )?branch\b/;
const REVERT = /^(?:revert|undo|rollback)\b|^⏪/i;
const PAST = "changelogs?|changes|history|release-?notes?|releases|whats-?new|news";
const HISTORY = new RegExp(`(?:^|/)(?:${PAST})(?:[/.-]|$)`, "i");
const LANGUAGES = [
  "am|ar|az|bn|cn|cs|da|de|el|es|fa|fi|fr|he|hi|hu|id|it|ja|jp|ko|kr|ml|nl|no|pl|pt|ro|ru|sv|ta|th",
  "tr|uk|ur|uz|vi|yo|zh|emoji",
].join("|");
const LOCALE = `(?:${LANGUAGES})(?:[-_][A-Za-z]{2,4})?`;
const TRANSLATED = new RegExp(`(?:^|/)${LOCALE}(?=/)|[._]${LOCALE}\\.mdx?$`);

/** True of a page, but not of a data file or a picture. */
export function isDocsPage(path: string): boolean {
  return PAGE.test(path);
}

/** True of a page that tells of the past, such as a changelog. */
function isHistory(path: string): boolean {
  return HISTORY.test(path);
}

/** True of a page in another language than the docs' first. */
function isTranslation(path: string): boolean {
  return TRANSLATED.test(path);
}

/** Why a commit can't be a task as far as its message and paths tell. Null if it may be one. */
export function screened(
  { author, subject, files }: Landed,
  isDocs: (path: string) => boolean,
): Reason | null {
  const paths = files.map(({ path }) => path);
  const pages = files.filter(({ path }) => isDocsPage(path));
  if (!paths.some(isDocs)) return "no-docs";
  if (BOT.test(author) || BOT_WORDS.test(subject)) return "bot";
  if (RELEASE.test(subject)) return "release";
  if (MERGE.test(subject)) return "merge";
  if (REVERT.test(subject)) return "revert";
  if (!paths.every(isDocs)) return "code-too";
  if (pages.length === 0) return "no-page";
  if (paths.some((path) => PICTURE.test(path))) return "pictures";
  if (pages.some(({ before, after }) => before === null || after === null)) return "moves";
  if (pages.every(({ path }) => isHistory(path))) return "history";
  if (pages.every(({ path }) => isTranslation(path))) return "translation";
  return pages.length > MAX_PAGES || files.length > 2 * MAX_PAGES ? "large" : null;
}
