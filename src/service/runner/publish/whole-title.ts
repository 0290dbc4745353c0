import { listed } from "../../../shared/text/text.ts";
import { oneLine } from "../../base/printable-text.ts";
import { cutAtWord } from "./cut-at-word.ts";
import { inertWords } from "./inert-text.ts";
import { lowerFirst, MAX_TITLE_LENGTH } from "./title.ts";

/** A turn's title, and the pages that its summary has a line about. */
export type TitledTurn = { title: string; pages: readonly string[] };

/**
 * The title for the result of several turns, given oldest first, which changed these files. It says
 * what was done and where, as far as there is room. If the first title is true of everything, it
 * may stay as it is. Null if there are neither titles nor files.
 */
export function wholeTitle(turns: readonly TitledTurn[], paths: readonly string[]): string | null {
  const titles = unique(turns.map(({ title }) => title));
  const places = placesOf(paths);
  const updated = places.map((place) => `Update ${place}`);
  const [first] = turns;
  if (first === undefined) return fitting(updated);
  if (titles.length === 1) return first.title;
  const split = titles.map((title) => splitTitle(title, paths));
  const [what = ""] = split.map((each) => each.what);
  const begun = unique([what, what.split(/[,;] /, 1)[0] ?? what]);
  const found = fitting([
    ...allTogether(titles, split, places),
    ...(isTrueOfAll(first, split[0]?.where ?? null, paths) ? [first.title] : []),
    ...begun.flatMap((each) => places.map((place) => `${each} and more in ${place}`)),
    ...updated,
  ]);
  return found ?? withMore(first.title, titles.length - 1);
}

/** What all of the titles say, wherever there is room for it. */
function allTogether(
  titles: readonly string[],
  split: readonly Split[],
  places: readonly string[],
): string[] {
  if (!split.every(({ where }) => where !== null)) return [inOrder(titles)];
  const what = together(unique(split.map((each) => each.what)));
  const isCounted = split.every(({ where }) => typeof where === "number");
  return (isCounted ? places.slice(-1) : places).map((place) => `${what} in ${place}`);
}

function fitting(titles: readonly string[]): string | null {
  return titles.find(({ length }) => length <= MAX_TITLE_LENGTH) ?? null;
}

function withMore(title: string, count: number): string {
  const more = count === 1 ? " and one more change" : ` and ${count} more changes`;
  return `${cutAtWord(title, MAX_TITLE_LENGTH - more.length)}${more}`;
}

function unique(texts: readonly string[]): string[] {
  return texts.filter((text, at) => texts.findIndex((each) => lower(each) === lower(text)) === at);
}

function lower(text: string): string {
  return text.toLowerCase();
}

/** What was done, and the files that the title names, or how many. Null if it names none. */
type Split = { what: string; where: readonly string[] | number | null };

/** Takes a title apart that ends with what it is about: "Fix typos in install and FAQ". */
function splitTitle(title: string, paths: readonly string[]): Split {
  for (const { 0: between, index } of title.matchAll(/ (?:in|on) /g)) {
    const where = namedIn(title.slice(index + between.length), paths);
    if (where !== null && index > 0) return { what: title.slice(0, index), where };
  }
  return { what: title, where: null };
}

function namedIn(text: string, paths: readonly string[]): Split["where"] {
  const count = /^(?:(all)|(\d{1,6})) (?:pages?|files?)$/.exec(text);
  if (count !== null) return count[1] === undefined ? Number(count[2]) : paths.length;
  const names = text.split(/, and |, | and /).map((name) => paths.find((path) => isNameOf(name, path)));
  return names.every((name) => name !== undefined) ? names : null;
}

function isNameOf(given: string, path: string): boolean {
  const name = lower(given)
    .replaceAll(/[`"“”]/g, "")
    .replace(/^(?:the|\.\/) ?/, "")
    .replace(/ (?:page|guide|docs?)$/, "");
  const whole = lower(path);
  return (
    name !== "" &&
    (whole === name || whole.endsWith(`/${name}`) || lower(pageName(path)) === name.replaceAll(" ", "-"))
  );
}

/** True if a turn's title tells where all of the change is. */
function isTrueOfAll({ pages }: TitledTurn, where: Split["where"], paths: readonly string[]): boolean {
  if (typeof where === "number") return where === paths.length;
  const named = where ?? pages;
  return paths.length > 0 && paths.every((path) => named.includes(path));
}

/** What was done, in one phrase: "Fix typos and links", "Fix typos and add a flag". */
function together(whats: readonly string[]): string {
  if (whats.some((what) => /[,;:]| and /.test(what))) return inOrder(whats);
  const byVerb = Map.groupBy(whats, (what) => lower(verbOf(what)));
  const phrases = [...byVerb.values()].map((group) => {
    const [first = ""] = group;
    const objects = summed(group.map((what) => what.slice(verbOf(what).length + 1)));
    return group.length === 1 ? first : `${verbOf(first)} ${listed(objects)}`;
  });
  return phrases.some((phrase) => phrase.includes(" and ")) ? inOrder(phrases) : listed(lowered(phrases));
}

function verbOf(what: string): string {
  return what.split(" ", 1)[0] ?? "";
}

/** "2 links" and "1 link" are "3 links". */
function summed(objects: readonly string[]): string[] {
  const sums = new Map<string, { count: number; said: string }>();
  for (const said of objects) {
    const [, number, noun = ""] = /^(\d{1,6}) ([\p{L}-]+?)s?$/u.exec(said) ?? [];
    const key = number === undefined ? said : `${noun}s`;
    const count = (sums.get(key)?.count ?? 0) + Number(number ?? 0);
    sums.set(key, { count, said: sums.has(key) && number !== undefined ? `${count} ${key}` : said });
  }
  return [...sums.values()].map(({ said }) => said);
}

function inOrder(titles: readonly string[]): string {
  return lowered(titles).join("; ");
}

function lowered([first = "", ...others]: readonly string[]): string[] {
  return [first, ...others.map(lowerFirst)];
}

/** No title has room for more names. */
const MAX_NAMES = 3;
const MAX_NAME_LENGTH = 40;
const ABBREVIATIONS = /^(?:api|cli|faq|sdk)$/i;

/** What a title may call these files, the most exact first. */
function placesOf(paths: readonly string[]): string[] {
  const names = namesOf(paths);
  const [only] = paths.map(asWords);
  if (paths.length === 0) return [];
  if (paths.length === 1) return [only ?? "", ...names, "one page"].filter(isShort);
  const some = [2, 1]
    .filter((count) => count < paths.length)
    .map((count) => [names.slice(0, count), paths.length - count] as const)
    .map(([shown, more]) => [...shown, more === 1 ? "one more page" : `${more} more pages`]);
  const all = paths.length <= MAX_NAMES ? [names] : [];
  return [
    ...[...all, ...some].filter((each) => each.every(isShort)).map((each) => listed(each)),
    `${paths.length} pages`,
  ];
}

function isShort(name: string): boolean {
  return name !== "" && name.length <= MAX_NAME_LENGTH;
}

/** Short names of files, with the folder where another one would have the same. */
function namesOf(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(pageName(path), (counts.get(pageName(path)) ?? 0) + 1);
  return paths.map((path) => asWords((counts.get(pageName(path)) ?? 0) > 1 ? path : pageName(path)));
}

/** What people call a page: the FAQ, or the folder that a README is in. */
function pageName(path: string): string {
  const [file = "", folder] = path.split("/").toReversed();
  const name = file.replace(/(?<=.)\.\w{1,12}$/, "");
  const said = /^_?(?:index|readme)$/i.test(name) && folder !== undefined ? folder : name;
  return ABBREVIATIONS.test(said) ? said.toUpperCase() : said;
}

function asWords(path: string): string {
  return oneLine(inertWords(path), Infinity);
}
