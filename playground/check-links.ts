import { readFile } from "node:fs/promises";
import { isMdx, isPage, listFiles } from "./agent/folder.ts";
import { repairLinks } from "./agent/links.ts";

// The playground's check. Writes a line for each relative link in the current folder that leads
// nowhere, and exits with 1 if it found one. It needs nothing to be installed. docs/quality.md
// names better checks for your own docs.
const files = await listFiles(".");
for (const path of files.filter(isPage)) {
  const { edits, ambiguous, unknown } = repairLinks(path, await readFile(path, "utf8"), isMdx(path), files);
  const broken = [...edits.map(({ from }) => from), ...ambiguous.map(({ target }) => target), ...unknown];
  for (const target of broken) {
    process.stdout.write(`${path}: broken link to ${target}\n`);
    process.exitCode = 1;
  }
}
