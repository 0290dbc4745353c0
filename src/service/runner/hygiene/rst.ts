/** A line that is a title of reStructuredText. `depth` counts from 1, in the order of the marks. */
export type RstTitle = { nth: number; depth: number };

const DIRECTIVE = /^(\s*)\.\.[ \t]+(?:\|[^|]+\|[ \t]+)?([\w:+.-]+?) ?::(?:\s|$)/;
const EXPLICIT = /^(\s*)\.\.(?:\s|$)/;
const ITEM = /^\s*(?:[-*+]|#\.|\(?\w{1,3}[.)])\s+/;
/** Their content is words, as around them. That of all others may be anything. */
const WITH_WORDS = new Set(
  (
    "admonition attention caution danger error hint important note tip warning seealso todo " +
    "versionadded versionchanged versionremoved deprecated topic sidebar container only " +
    "tab tabs tab-item tab-set dropdown card grid collapse details"
  ).split(" "),
);

/**
 * For each line whether it isn't words: samples, comments, and the content of directives that may
 * be anything.
 */
export function rstSamples(lines: readonly string[]): boolean[] {
  let over: number | null = null;
  let isSession = false;
  return lines.map((line) => {
    const indent = line.search(/\S/);
    if (indent < 0) {
      isSession = false;
      return false;
    }
    if (over !== null && indent > over) return true;
    over = null;
    const directive = DIRECTIVE.exec(line);
    if (directive !== null && !WITH_WORDS.has(directive[2] ?? "")) over = indent;
    else if (directive === null && EXPLICIT.test(line)) over = indent;
    else if (directive === null && /::\s*$/.test(line)) over = ITEM.exec(line)?.[0].length ?? indent;
    isSession ||= /^\s*>>> /.test(line);
    return isSession;
  });
}

const UNDERLINE = /^([!-/:-@[-`{-~])\1{2,}\s*$/;

/** The titles of a page, outside of samples. */
export function rstTitles(lines: readonly string[], isSample: readonly boolean[]): RstTitle[] {
  const marks: string[] = [];
  return lines.flatMap((line, nth): RstTitle[] => {
    const [above, under] = [lines[nth - 1] ?? "", lines[nth + 1] ?? ""];
    const mark = UNDERLINE.exec(under)?.[1];
    if (mark === undefined || line.trim() === "" || UNDERLINE.test(line) || isSample[nth] === true) return [];
    const isUnderLine = above.trimEnd() === under.trimEnd();
    const isFirst = above.trim() === "" || above.startsWith("..");
    if (!isUnderLine && (!isFirst || /^\s/.test(line))) return [];
    const style = isUnderLine ? mark + mark : mark;
    if (!marks.includes(style)) marks.push(style);
    return [{ nth, depth: marks.indexOf(style) + 1 }];
  });
}
