import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import markdownIt from "markdown-it";
import { lint } from "markdownlint/promise";
import relativeLinks from "markdownlint-rule-relative-links";
import { type Files, writeFiles } from "./files.ts";

const PAGES = /\.(?:md|mdx|markdown)$/;

/** A task's own repository is looked at once, however many solutions are judged. */
const found = new WeakMap<Files, Promise<string[]>>();

/**
 * The links and anchors between these files that lead nowhere, in one line each without positions.
 */
export function brokenLinks(files: Files): Promise<string[]> {
  const links = found.get(files) ?? lookForBrokenLinks(files);
  found.set(files, links);
  return links;
}

async function lookForBrokenLinks(files: Files): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "eval-links-"));
  try {
    await writeFiles(folder, files);
    const results = await lint({
      files: [...files.keys()].filter((path) => PAGES.test(path)).map((path) => join(folder, path)),
      config: { default: false, "relative-links": true, "link-fragments": true },
      customRules: [relativeLinks],
      markdownItFactory: () => markdownIt({ html: true }),
      noInlineConfig: true,
    });
    return Object.entries(results).flatMap(([file, problems]) =>
      problems.map(({ ruleDescription, errorDetail, errorContext }) =>
        `${relative(folder, file)}: ${errorDetail ?? ruleDescription} ${errorContext ?? ""}`
          .replaceAll(folder, "")
          .trim(),
      ),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
