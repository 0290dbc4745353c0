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
  let run: DiffRun | null = null;
  for (const line of diff.split("\n")) {
    if (line.startsWith("diff --git ")) {
      page = { path: pathTwice(line), status: "changed", isBinary: false, runs: [] };
      pages.push(page);
      isHead = true;
      run = null;
    } else if (page !== null && line.startsWith("@@ ")) {
      isHead = false;
      run = null;
      heading = headingOf(line.replace(/^@@ [^@]*@@ ?/, ""));
    } else if (page !== null && isHead) {
      readHead(page, line);
    } else if (page !== null && (line.startsWith("-") || line.startsWith("+"))) {
      const isAdded = line.startsWith("+");
      // A line that goes after lines that came begins something else.
      if (run === null || (!isAdded && run.added.length > 0)) {
        run = { heading, removed: [], added: [] };
        page.runs.push(run);
      }
      (isAdded ? run.added : run.removed).push(line.slice(1));
      if (isAdded) heading = headingOf(line.slice(1)) ?? heading;
    } else if (!line.startsWith("\\")) {
      run = null;
      heading = headingOf(line.slice(1)) ?? heading;
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

function headingOf(line: string): string | null {
  return HEADING.exec(line)?.[1] || null;
}
