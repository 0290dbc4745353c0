const HEADING = /^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*$/;
const FENCE = /^[ \t]*(?:[-*+>]|\d+[.)])?[ \t]*(`{3,}|~{3,})/;

/** A heading's text without marks and without an id of its own. */
export function headingText(text: string): string {
  return text
    .replace(/\s*\{\s*(?:\/\*\s*)?#[^}]*\}\s*$/, "")
    .replace(/[ \t]+#+[ \t]*$/, "")
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * What stands below each heading of these words, down to the next heading of its level. Null if a
 * page has no such heading.
 */
export function sectionsUnder(text: string, heading: string): string | null {
  const found: string[] = [];
  let isThere = false;
  let level = 0;
  let fence = "";
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence === "") fence = mark;
    else if (mark.startsWith(fence)) fence = "";
    const [, marks = "", words = ""] = (fence === "" && mark === "" && HEADING.exec(line)) || [];
    if (marks !== "" && (level === 0 || marks.length <= level)) {
      const isIt = headingText(words) === headingText(heading);
      isThere ||= isIt;
      level = isIt ? marks.length : 0;
    }
    if (level > 0) found.push(line);
  }
  return isThere ? found.join("\n") : null;
}
