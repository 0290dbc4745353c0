/** What a text says about the project, and the text without that. */
export type ProjectOption = {
  /** The name as it is configured, or as it was typed if there is none like it. */
  name: string;
  isKnown: boolean;
  rest: string;
};

/** The option with what emphasizes, encloses or hides, and what makes it look like a program's. */
const OPTION = String.raw`[*_~([{（［【\p{Cf}]*(?:--?|[–—])?project\s*[=＝]\s*(\S*)`;
const FIRST = new RegExp(String.raw`^${OPTION}`, "iu");
const LAST = new RegExp(String.raw`(?<![^\s,;，；、])${OPTION}$`, "iu");
const ANYWHERE = new RegExp(
  [
    String.raw`(?<!\S)([*_~([{（［【]*)project[=＝]([\p{L}\p{N}](?:\S*[\p{L}\p{N}])?)`,
    String.raw`([*_~)\]}）］】]*)([,;:.!?…，；：、。！？]*)(?!\S)`,
  ].join(""),
  "gu",
);

/** Code, quoted lines and quotation marks. What is in them is somebody else's. */
const QUOTED = new RegExp(
  [
    "```[^]*?(?:```|(?![^]))",
    "`[^`\\n]*`",
    "^>.*$",
    '"[^"\\n]*"',
    "“[^”\\n]*”",
    "„[^“”\\n]*[“”]",
    "«[^»\\n]*»",
    // Not an apostrophe.
    String.raw`(?<!\S)['‘][^'’\n]*['’](?!\w)`,
  ].join("|"),
  "gm",
);

const BEFORE_NAME = /^[\p{P}~`\p{Cf}]+/u;
const AFTER_NAME = /[\p{P}~`\p{Cf}]+$/u;
const BEFORE_WORDS = /^[\s,;:.，；：、。–—]+|^-+\s+/u;
const AFTER_WORDS = /[\s,;:，；：、–—]+$|\s+-+$/u;

/**
 * Finds `project=name`. At the start or the end it always counts; in the middle only if there are
 * several projects and it is exactly one of them; in code or quotes never. Two names are together
 * one that isn't known. Null if there is none.
 */
export function projectOption(text: string, projects: readonly string[]): ProjectOption | null {
  const outer = atAnEnd(text, projects);
  if (outer === null) return projects.length < 2 ? null : inTheMiddle(text, projects);
  const next = atAnEnd(outer.rest, projects);
  if (next === null) return outer;
  const isSame = next.name.toLowerCase() === outer.name.toLowerCase();
  return isSame ? { ...outer, rest: next.rest } : bothOf(outer, next);
}

function atAnEnd(text: string, projects: readonly string[]): ProjectOption | null {
  const first = FIRST.exec(text);
  if (first !== null) {
    const named = namedBy(first[1] ?? "", projects);
    return { ...named, rest: text.slice(first[0].length).replace(BEFORE_WORDS, "").trim() };
  }
  const last = LAST.exec(text);
  if (last === null || !isOwn(text, last.index)) return null;
  const named = namedBy(last[1] ?? "", projects);
  return { ...named, rest: text.slice(0, last.index).replace(AFTER_WORDS, "").trim() };
}

function inTheMiddle(text: string, projects: readonly string[]): ProjectOption | null {
  let found: ProjectOption | null = null;
  for (const { index, 0: option, 1: opening = "", 2: name = "", 3: closing, 4: mark } of text.matchAll(
    ANYWHERE,
  )) {
    if (!projects.includes(name) || !isOwn(text, index)) continue;
    const before = text.slice(0, index) + (closing === "" ? opening : "");
    const after = text.slice(index + option.length);
    const here = { name, isKnown: true, rest: `${before.trimEnd()}${mark}${after}`.trim() };
    if (found !== null && found.name !== name) return bothOf(found, here);
    found ??= here;
  }
  return found;
}

function bothOf(one: ProjectOption, other: ProjectOption): ProjectOption {
  return { name: `${one.name}, ${other.name}`, isKnown: false, rest: one.rest };
}

function isOwn(text: string, at: number): boolean {
  return ![...text.matchAll(QUOTED)].some(({ index, 0: { length } }) => at >= index && at < index + length);
}

/** A name may be in quotes, and be followed by punctuation as in a sentence. */
function namedBy(typed: string, projects: readonly string[]): Pick<ProjectOption, "name" | "isKnown"> {
  const bare = typed.replace(AFTER_NAME, "").replace(BEFORE_NAME, "");
  for (const name of [typed, bare]) {
    if (projects.some((project) => project.toLowerCase() === name.toLowerCase()))
      return { name, isKnown: true };
  }
  return { name: bare, isKnown: false };
}
