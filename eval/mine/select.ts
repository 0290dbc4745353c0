import { diffLines } from "diff";
import { blocksOf } from "../page/blocks.ts";
import { hasToken, isInCode, isInDocs, isSaid, isSlipOnly, type Texts } from "./known.ts";
import { type ChangedPage, type Place, type PlaceKind, placesOf } from "./places.ts";
import type { Request } from "./request.ts";
import { MAX_LINES, type Reason } from "./screen.ts";
import { topicsOf, wordsIn } from "./words.ts";

/** More places, or more that comes, than a person has in mind with one request. */
const MAX_PLACES = 8;
const MAX_BROUGHT = 8;
/** More that only words anew isn't what the request is about. */
const MAX_PROSE = 200;
/** Of a paragraph with more words, nobody can know what it is to say. */
const MAX_ADDED_WORDS = 12;
/** With more words that come to a paragraph and weren't asked for, it is worded anew. */
const MAX_REWORDED = 5;
/** The same where names only go: what stands in their place is all the more a new wording. */
const MAX_REPLACED = 2;
/** What was added besides is all that a commit was about if it is longer. */
const MAX_BESIDES = 300;
/** A topic that is in a larger share of a page's blocks leads to no place on it. */
const RARE = 0.25;

/** What can be judged of a commit: the places with something that goes or comes. */
export type Found = { places: Place[]; kind: PlaceKind; lines: number };

/** The places of a commit, or why it can't be a task as far as its changes tell. */
export function foundIn(pages: readonly ChangedPage[]): Found | Reason {
  const lines = pages.reduce((sum, page) => sum + linesOf(page), 0);
  if (lines > MAX_LINES) return "large";
  const all = pages.flatMap(placesOf);
  if (all.length === 0) return "layout";
  const places = all.filter(({ kind }) => kind !== "prose");
  const prose = all.filter(({ kind }) => kind === "prose");
  if (places.length === 0) return prose.every(({ before }) => before === "") ? "addition" : "prose";
  if (all.every(({ before }) => before === "")) return "addition";
  const brought = places.reduce((sum, place) => sum + place.brought.length, 0);
  if (places.length > MAX_PLACES || brought > MAX_BROUGHT) return "large";
  if (lengthOf(prose) > MAX_PROSE) return "prose";
  return { places, kind: kindOf(places), lines };
}

function lengthOf(places: readonly Place[]): number {
  return places.reduce((sum, { before, after }) => sum + Math.max(before.length, after.length), 0);
}

function linesOf({ before, after }: ChangedPage): number {
  const parts = diffLines(before, after);
  return parts.reduce((sum, { added, removed, count }) => sum + (added || removed ? count : 0), 0);
}

/** The kind of a commit with these places. */
export function kindOf(places: readonly Place[]): PlaceKind {
  const count = (kind: PlaceKind) => places.filter((place) => place.kind === kind).length;
  const [facts, samples] = [count("fact"), count("sample")];
  if (facts + samples > 0) return samples >= facts ? "sample" : "fact";
  return count("link") > 0 ? "link" : "words";
}

/**
 * The places that a request asks for, if whoever reads it and the texts can know what is right in
 * all of them, and otherwise why not. What a commit only added and slips that it mended besides
 * needn't come.
 */
export function askedFor(
  { places }: Found,
  { words }: Request,
  pages: readonly ChangedPage[],
  texts: () => Texts,
): Place[] | Reason {
  const isNamed = (place: Place) =>
    [...place.old, ...place.brought].some((token) => isSaid(token, words, place));
  const isShort = ({ kind, after }: Place) => kind === "sample" || wordsIn(after).length <= MAX_ADDED_WORDS;
  const asked = places.filter((place) => {
    if (place.before === "") return isNamed(place) && isShort(place);
    return !isSlipOnly(place, texts()) || isNamed(place) || ABOUT_KIND.words?.test(words) === true;
  });
  const besides = places.filter((place) => !asked.includes(place) && place.before === "");
  if (lengthOf(besides) > MAX_BESIDES) return "addition";
  if (asked.length === 0) return places.some(({ before }) => before !== "") ? "says-too-little" : "addition";
  const isLed = (place: Place) => leadsTo(words, place, pages, texts);
  const led = asked.filter(isLed);
  const isAsOne = (place: Place) =>
    led.some(
      ({ old, brought }) => old.join() === place.old.join() && brought.join() === place.brought.join(),
    );
  if (led.length === 0 || !asked.every((place) => isLed(place) || isAsOne(place))) return "says-too-little";
  for (const place of asked) {
    const fault = isSlipOnly(place, texts()) ? null : unknownIn(place, words, texts);
    if (fault !== null) return fault;
  }
  return asked;
}

/** More that the request doesn't say is another way to write the place. */
const MAX_UNSAID = 4;

/** Says that something isn't so, or shouldn't stand there. */
const GOES = new RegExp(
  [
    String.raw`\b(?:remov|delet|drop|strip|duplicat|unnecess|redundan|unsupport|stray|extra|obsolete)`,
    String.raw`\b(?:without|instead|should|not|no longer|now|false)|n't\b|[-=]>|→`,
  ].join("|"),
  "i",
);

function unknownIn(place: Place, words: string, texts: () => Texts): Reason | null {
  const { kind, old, brought } = place;
  const isKnown = (token: string) => isSaid(token, words, place);
  const said = [...old, ...brought].filter(isKnown);
  const unsaid = brought.filter((token) => !isKnown(token));
  if (kind !== "sample" && newWords(place, words) > (brought.length > 0 ? MAX_REWORDED : MAX_REPLACED))
    return "prose";
  if (brought.length === 0 && !GOES.test(words)) return "says-too-little";
  if (brought.length === 0 && leadsToHeading(words, place)) return null;
  if (said.length === 0 && brought.length === 0) return "says-too-little";
  if (old.length + brought.length - said.length > MAX_UNSAID) return "says-too-little";
  const isNamed = unsaid.length < brought.length;
  if (old.length === 0 && !isNamed) {
    const isLinked = (token: string) => isInternal(token, place) && isNamedPage(token, words);
    return brought.every(isLinked) ? null : "unknowable";
  }
  // In prose, other words may be right, too. So they have to be given.
  if (kind === "words" && unsaid.length > 0) return "unknowable";
  const isThere = (token: string) =>
    isInternal(token, place) ||
    isInCode(token, place, words, texts()) ||
    (isNamed && isInDocs(token, place, texts()));
  return unsaid.every(isThere) ? null : "unknowable";
}

/** How many words come that neither stood there nor were said. */
function newWords({ before, after }: Place, said: string): number {
  const known = topicsOf(`${before} ${said}`);
  return [...topicsOf(after)].filter((topic) => !known.has(topic)).length;
}

/** True if all of a place goes, and the request names it by its first words, as a heading has. */
function leadsToHeading(words: string, { before, after }: Place): boolean {
  if (after !== "") return false;
  const heading = topicsOf(before.split("\n")[0] ?? "");
  const about = topicsOf(words);
  return heading.size > 0 && [...heading].some((topic) => about.has(topic));
}

/** True if words name the page, or the section, that a link leads to. */
function isNamedPage(target: string, words: string): boolean {
  const about = topicsOf(words);
  const topics = topicsOf(target.split(/[/#]/).at(-1) ?? "");
  return topics.size > 0 && [...topics].every((topic) => about.has(topic));
}

/** The links check says if it leads somewhere, and no page is new. */
function isInternal(token: string, { kind }: Place): boolean {
  return kind === "link" && !/^[a-z]+:/i.test(token);
}

const ABOUT_KIND: Partial<Record<PlaceKind, RegExp>> = {
  words: /\b(?:typos?|spelling|misspell\w*|grammar|grammatical)\b/i,
  link: /\b(?:links?|urls?|404|dead|redirects?|anchors?|href)\b/i,
};

/** True if words name what stands in a place, or what is to stand there. */
function leadsTo(words: string, place: Place, pages: readonly ChangedPage[], texts: () => Texts): boolean {
  if ([...place.old, ...place.brought].some((token) => token.length > 2 && hasToken(words, token)))
    return true;
  const isAboutKind = ABOUT_KIND[place.kind]?.test(words) === true;
  if (isAboutKind && (place.kind === "link" || isSlipOnly(place, texts()))) return true;
  const page = pages.find(({ path }) => path === place.path);
  const blocks = blocksOf(place.path, page?.before ?? "").map(({ visible }) => topicsOf(visible));
  const own = topicsOf(place.path);
  const about = topicsOf(words);
  const here = topicsOf(`${place.under ?? ""} ${place.before} ${place.after}`);
  const limit = Math.max(2, RARE * blocks.length);
  return [...about].some(
    (topic) =>
      here.has(topic) && !own.has(topic) && blocks.filter((block) => block.has(topic)).length <= limit,
  );
}
