import type { Example } from "../workspace/index.ts";

/**
 * Requests that the rule-based agent understands. They change something in `sample-docs/`, make it
 * ask, or make it answer.
 */
export const EXAMPLES: readonly Example[] = [
  { request: "fix the typos in the quickstart", does: "corrects common misspellings on that page" },
  { request: "fix the broken links", does: "repairs relative links on all pages" },
  {
    request: "replace TidePool with Tidepool",
    does: "replaces words; “rename … to …” and “change … to …” work, too",
  },
  { request: "fix the FAQ", does: "corrects misspellings and repairs links on that page" },
  {
    request: "fix the typos on the instal page",
    does: "asks which page you mean, because no page has that name",
  },
  {
    request: "replace refrence.md with references.md",
    does: "leaves a link broken: the check finds it, and the agent repairs it",
  },
  {
    request: "replace configuration.md with settings.md",
    does: "breaks links for good: the check finds them, and the pull request is a draft",
  },
  {
    request: "rename “Create a key” to “Make a key”",
    does: "renames a heading that a link leads to: a check of the code host fails, and the agent can fix it",
  },
  { request: "does the CLI support --port?", does: "answers with what the pages say, and changes nothing" },
];
