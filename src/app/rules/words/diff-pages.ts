/** Lines of a page that stood together, and the lines in their place. One of them may be empty. */
export type DiffRun = { heading: string | null; removed: string[]; added: string[] };

/** A page of a diff: untrusted. */
export type DiffPage = {
  path: string;
  status: "new" | "removed" | "changed";
  isBinary: boolean;
  runs: DiffRun[];
};

const HEADING = /^ {0,3}#{1,6}[ \t]+(.*?)[ #\t]*$/;

/** Reads a diff as git writes it. Anything else has no pages. */
export function readDiffPages(diff: string): DiffPage[] {
  const pages: DiffPage[] = [];
  let page: DiffPage | null = null;
  let isHead = true;
  let heading: string | null = null;
  let isInFence = false;
  let run: DiffRun | null = null;
  const lines = diff.split("\n");
  // What looks like a heading in a code block is a comment of the code.
  const headingIn = (line: string) => (isInFence ? null : headingOf(line.slice(1)));
  for (const [at, line] of lines.entries()) {
    if (line.startsWith("diff --git ")) {
      page = { path: pathTwice(line), status: "changed", isBinary: false, runs: [] };
      pages.push(page);
      isHead = true;
      run = null;
    } else if (page !== null && line.startsWith("@@ ")) {
      isHead = false;
      run = null;
      heading = headingOf(line.replace(/^@@ [^@]*@@ ?/, ""));
      isInFence = beginsInFence(lines, at + 1);
    } else if (page !== null && isHead) {
      readHead(page, line);
    } else if (page !== null && (line.startsWith("-") || line.startsWith("+"))) {
      const isAdded = line.startsWith("+");
      if (isAdded && isFence(line)) isInFence = !isInFence;
      // A line that goes after lines that came begins something else.
      if (run === null || (!isAdded && run.added.length > 0)) {
        run = { heading, removed: [], added: [] };
        page.runs.push(run);
      }
      (isAdded ? run.added : run.removed).push(line.slice(1));
      if (isAdded) heading = headingIn(line) ?? heading;
      // A heading that changes stands under itself.
      if (run.added.length === 1) run.heading = heading;
    } else if (!line.startsWith("\\")) {
      run = null;
      if (isFence(line)) isInFence = !isInFence;
      heading = headingIn(line) ?? heading;
    }
  }
  return pages;
}

function readHead(page: DiffPage, line: string): void {
  if (line.startsWith("new file mode ")) page.status = "new";
  else if (line.startsWith("deleted file mode ")) page.status = "removed";
  else if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) page.isBinary = true;
  else if (/^(?:\+\+\+|---) "?[ab]\//.test(line)) page.path = pathAfter(line.slice(4));
}

/** The path in `diff --git a/x b/x`, which may have spaces. */
function pathTwice(line: string): string {
  const both = line.slice("diff --git ".length);
  return pathAfter(both.slice((both.length + 1) / 2));
}

function pathAfter(name: string): string {
  return name.replace(/^"?[ab]\//, "").replace(/["\t]$/, "");
}

const FENCE = /^[ +] {0,9}(?:`{3,}|~{3,})[ \t]*([^`]*)$/;

/** True of a line of the new page that begins or ends a code block. */
function isFence(line: string): boolean {
  return FENCE.test(line);
}

/**
 * True if the lines from `from` on begin within a code block. A mark with a language begins one. Of
 * marks without, an odd number says that the first one ends a block.
 */
function beginsInFence(lines: readonly string[], from: number): boolean {
  const to = lines.findIndex((line, at) => at >= from && /^(?:@@ |diff --git )/.test(line));
  const marks = lines.slice(from, to === -1 ? undefined : to).flatMap((line) => FENCE.exec(line)?.[1] ?? []);
  return marks.length % 2 === 1 && marks[0]?.trim() === "";
}

function headingOf(line: string): string | null {
  return HEADING.exec(line)?.[1] || null;
}
