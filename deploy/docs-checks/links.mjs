// The check of the preset `links`: whether the links from page to page, and their anchors, lead
// somewhere. It reads no settings of the repository's, which a branch could bring, and runs none of
// its code.
import { globSync } from "node:fs";
import markdownIt from "markdown-it";
import { lint } from "markdownlint/promise";
import relativeLinks from "markdownlint-rule-relative-links";

const files = globSync("**/*.{md,mdx,markdown}", { exclude: ["**/node_modules/**", "**/.*/**"] }).toSorted();
const results = await lint({
  files,
  config: { default: false, "relative-links": true, "link-fragments": true },
  customRules: [relativeLinks],
  markdownItFactory: () => markdownIt({ html: true }),
  noInlineConfig: true,
});
for (const [file, problems] of Object.entries(results)) {
  for (const { lineNumber, ruleDescription, errorDetail, errorContext } of problems) {
    console.log(`${file}:${lineNumber} ${errorDetail ?? ruleDescription} ${errorContext ?? ""}`.trim());
    process.exitCode = 1;
  }
}
