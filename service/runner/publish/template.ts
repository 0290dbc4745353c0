import type { GitRunner } from "../git/git.ts";
import { readFiles, readSnapshot } from "../git/objects.ts";

/** Where GitHub looks for it, in this order and ignoring case. */
const FOLDERS = [".github/", "", "docs/"] as const;
const NAME = /^pull_request_template(?:\.(?:md|txt|markdown))?$/i;
const MAX_BYTES = 20_000;

const HEADING = /^ {0,3}#{1,6}\s+\S/;
const DESCRIPTION = /\b(?:description|summary|overview|what|changes?|details)\b/i;
const CHECKS = /\b(?:test(?:s|ed|ing)?|checks?|verif\w+|validation|qa)\b/i;

/** The repository's template for pull requests. Null if it has none, or it is too large. */
export async function readTemplate(git: GitRunner, commit: string): Promise<string | null> {
  const files = [...(await readSnapshot(git, commit)).values()];
  const [found] = FOLDERS.flatMap((folder) =>
    files.filter(({ path, mode }) => {
      const isThere = path.slice(0, folder.length).toLowerCase() === folder;
      return isThere && mode.startsWith("100") && NAME.test(path.slice(folder.length));
    }),
  );
  if (found === undefined) return null;
  const content = (await readFiles(git, commit, [found.path])).get(found.path);
  if (content === undefined || content.length > MAX_BYTES) return null;
  // Only we may set our marks.
  const text = content
    .toString("utf8")
    .replaceAll(/<!-- *docs-agent:.*?-->|\r/gs, "")
    .trim();
  return text === "" ? null : text;
}

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
