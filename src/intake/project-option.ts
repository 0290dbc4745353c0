/** What a text says about the project, and the text without that. */
export type ProjectOption = {
  /** The name as it is configured, or as it was typed if there is none like it. */
  name: string;
  isKnown: boolean;
  rest: string;
};

/** The option with anything that emphasizes it, or makes it look like one of a program. */
const OPTION = String.raw`[*_~]*(?:--?|[–—])?project\s*=\s*(\S*)`;
const FIRST = new RegExp(String.raw`^${OPTION}`, "i");
const LAST = new RegExp(String.raw`(?<!\S)${OPTION}$`, "i");
const ANYWHERE = /(?<!\S)project=(\S+)(?!\S)/g;

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

const AFTER_NAME = /[\p{P}~]+$/u;
const BEFORE_WORDS = /^[\s,;:.–—]+|^-+\s+/u;
const AFTER_WORDS = /[\s,;:–—]+$|\s+-+$/u;

/**
 * Finds `project=name`. At the start or the end it always counts; in the middle only if there are
 * several projects and it is exactly one of them; in code or quotes never. Null if there is none.
 */
export function projectOption(text: string, projects: readonly string[]): ProjectOption | null {
  const quoted = [...text.matchAll(QUOTED)].map(({ index, 0: { length } }) => ({
    index,
    end: index + length,
  }));
  const isOwn = (at: number) => !quoted.some(({ index, end }) => at >= index && at < end);

  const first = FIRST.exec(text);
  if (first !== null) {
    const { name, isKnown } = named(first[1] ?? "", projects);
    return { name, isKnown, rest: text.slice(first[0].length).replace(BEFORE_WORDS, "").trim() };
  }
  const last = LAST.exec(text);
  if (last !== null && isOwn(last.index)) {
    const { name, isKnown } = named(last[1] ?? "", projects);
    return { name, isKnown, rest: text.slice(0, last.index).replace(AFTER_WORDS, "").trim() };
  }
  if (projects.length < 2) return null;
  for (const { index, 0: option, 1: name = "" } of text.matchAll(ANYWHERE)) {
    if (!projects.includes(name) || !isOwn(index)) continue;
    const [before, after] = [text.slice(0, index), text.slice(index + option.length)];
    return { name, isKnown: true, rest: `${before.trimEnd()}${after}`.trim() };
  }
  return null;
}

/** A name may be followed by punctuation, as in a sentence. */
function named(typed: string, projects: readonly string[]): Pick<ProjectOption, "name" | "isKnown"> {
  const bare = typed.replace(AFTER_NAME, "");
  for (const name of [typed, bare]) {
    if (projects.some((project) => project.toLowerCase() === name.toLowerCase()))
      return { name, isKnown: true };
  }
  return { name: bare, isKnown: false };
}
