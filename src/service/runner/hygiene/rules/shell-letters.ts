import type { DocPage } from "../page.ts";
import { eachLine, keyOfText, type Rule, shown, type Trace } from "../rule.ts";

const SHELL =
  "(?:sh|bash|zsh|shell|console|shell-session|sh-session|shellsession|powershell|pwsh|ps1|batch|cmd)";
const OPENINGS: Record<DocPage["markup"], RegExp | null> = {
  markdown: new RegExp(String.raw`^\s*(?:>\s*)*(?:\`{3,}|~{3,})\s*\{?\.?${SHELL}\b`),
  mdx: new RegExp(String.raw`^\s*(?:\`{3,}|~{3,})\s*${SHELL}\b`),
  rst: new RegExp(String.raw`^\s*\.\. (?:code-block|sourcecode|code|prompt):: ${SHELL}\b`),
  asciidoc: new RegExp(String.raw`^\[source,\s*${SHELL}\b`),
  other: null,
};
const PROMPT = /^\s*(?:\$|>|%|#|PS [^>]*>|C:\\[^>]*>) (?=\S)/;
const DASH = /(?<=\s)[\u2013\u2014]{1,2}(?=[A-Za-z])/;
const DOUBLE = /[\u201C\u201D\u201E]/;
const SINGLE = /(?<=[\s=])[\u2018\u2019][^\u2018\u2019]*\u2019/;
/** Inside of straight quotes and comments, and in texts of several lines, any letter is meant. */
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'/g;
const COMMENT = /(?:^|\s)#.*$/;

/** Quotes and dashes of print in commands, which a shell takes for plain letters. */
export const shellLetters: Rule = (page) => {
  const found: Trace[] = [];
  for (const sample of shellSamples(page)) {
    const isSession = sample.some(({ line }) => PROMPT.test(line));
    if (sample.some(({ line }) => /<<|@['"]/.test(line))) continue;
    for (const { line, at } of sample) {
      if (isSession && !PROMPT.test(line)) continue;
      const words = line.replace(PROMPT, " ").replace(QUOTED, '""').replace(COMMENT, "");
      if (/["']/.test(words.replaceAll('""', ""))) break;
      // Without a prompt, the line may be output, in which programs quote names so.
      const letter = DASH.exec(words) ?? DOUBLE.exec(words) ?? (isSession ? SINGLE.exec(words) : null);
      if (letter === null) continue;
      const says = `A shell takes ${shown(letter[0])} for a plain letter: ${shown(line.trim())}.`;
      found.push({ at, key: keyOfText(line), says });
    }
  }
  return found;
};

type Line = ReturnType<typeof eachLine>[number];

/** The lines of each sample that says that it is for a shell. */
function shellSamples(page: DocPage): Line[][] {
  const opening = OPENINGS[page.markup];
  const lines = eachLine(page);
  const samples: Line[][] = [];
  for (let nth = 0; opening !== null && nth < lines.length; nth += 1) {
    const first = lines[nth]?.line ?? "";
    if (!opening.test(first)) continue;
    const sample: Line[] = [];
    const isIn = insideOf(page, nth);
    for (nth += page.markup === "asciidoc" ? 2 : 1; isIn(lines[nth]?.line); nth += 1) {
      const line = lines[nth];
      if (line !== undefined) sample.push(line);
    }
    samples.push(sample);
    nth -= 1;
  }
  return samples;
}

/** Tells the lines of the sample that this line opens. */
function insideOf({ markup, lines }: DocPage, nth: number): (line: string | undefined) => boolean {
  const first = lines[nth] ?? "";
  if (markup === "rst") {
    const indent = first.search(/\S/);
    return (line) => line !== undefined && (line.trim() === "" || line.search(/\S/) > indent);
  }
  const end = markup === "asciidoc" ? (lines[nth + 1] ?? "").trim() : (/`{3,}|~{3,}/.exec(first)?.[0] ?? "");
  return (line) => line !== undefined && line.replace(/^[\s>]*/, "").trimEnd() !== end;
}
