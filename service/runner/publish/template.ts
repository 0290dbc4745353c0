const HEADING = /^ {0,3}#{1,6}\s+\S/;
const DESCRIPTION = /\b(?:description|summary|overview|what|changes?|details)\b/i;
const CHECKS = /\b(?:test(?:s|ed|ing)?|checks?|verif\w+|validation|qa)\b/i;

/** True if a template has its own section for checks. */
export function hasChecksHeading(template: string): boolean {
  return headingIn(template.split("\n"), CHECKS) >= 0;
}

/**
 * Puts our parts under the headings that they belong to. Other parts of the template stay as they
 * are.
 */
export function inTemplate(template: string, main: string, checks: string): string {
  const lines = template.split("\n");
  const forChecks = headingIn(lines, CHECKS);
  if (forChecks >= 0) lines.splice(forChecks + 1, 0, "", checks, "");
  const forMain = headingIn(lines, DESCRIPTION);
  lines.splice(forMain + 1, 0, ...(forMain < 0 ? [main, ""] : ["", main, ""]));
  return lines.join("\n");
}

/** The index of the first heading that matches, or -1. */
function headingIn(lines: readonly string[], what: RegExp): number {
  let isInCode = false;
  let isInComment = false;
  return lines.findIndex((line) => {
    if (/^ {0,3}(?:```|~~~)/.test(line)) isInCode = !isInCode;
    const isHeading = !isInCode && !isInComment && HEADING.test(line);
    const [opens, closes] = [line.lastIndexOf("<!--"), line.lastIndexOf("-->")];
    if (opens !== closes) isInComment = opens > closes;
    return isHeading && what.test(line);
  });
}
