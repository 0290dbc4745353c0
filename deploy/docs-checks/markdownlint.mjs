// The check of the preset `markdownlint`: markdownlint-cli2 with its own arguments. Switches in
// pages are not obeyed, and pages of MDX are free of rules that they can't keep: the parser reads
// their tags as text, takes what is indented in them for code, and sees headings under tabs twice.
import { main } from "markdownlint-cli2";

const NOT_FOR_MDX = [
  "MD005", // indents of lists, which follow the tags around them
  "MD007",
  "MD022", // blank lines around headings, fences and lists, where a tag stands beside them
  "MD023",
  "MD024", // the same heading under another tab
  "MD029", // numbers that go on after a tag
  "MD031",
  "MD032",
  "MD033", // tags
  "MD034", // addresses in a tag's attributes
  "MD037", // `*`, backticks and brackets in expressions
  "MD038",
  "MD046", // indented text in a tag, which is no code
  "MD051", // ids that components bring; `links` knows those
  "MD052",
];
const FREE = new RegExp(`^.*\\.mdx:\\d+(?::\\d+)? (?:error|warning) (?:${NOT_FOR_MDX.join("|")})/`, "i");

/** Runs markdownlint-cli2. Returns its exit code: 0, 1 for findings, or 2 if it couldn't run. */
async function lint(argv) {
  const lines = [];
  const code = await main({
    argv,
    optionsOverride: { noInlineConfig: true },
    logMessage: console.log,
    logError: (text) => lines.push(...text.split("\n").filter((line) => !FREE.test(line))),
  });
  for (const line of lines) console.log(line);
  return code === 1 && lines.length === 0 ? 0 : code;
}

try {
  process.exitCode = await lint(process.argv.slice(2));
} catch (error) {
  console.error(error);
  process.exitCode = 2;
}
