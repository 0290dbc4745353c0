import type { ServiceProject } from "../../src/service/config/config.ts";

/** The settings for pull requests in a project that doesn't set them. */
export const SETTINGS: ServiceProject["pullRequests"] = {
  draft: false,
  labels: [],
  reviewers: [],
  assignees: [],
  titleTemplate: "{title}",
  branchPrefix: "docs-agent/",
  requester: "auto",
};

/** The settings for commits in a project that doesn't set them. */
export const COMMIT_SETTINGS: ServiceProject["commits"] = {
  signOff: false,
  signingKeyFile: null,
  by: "git",
};

/** The script of an agent that corrects the readme's typo. */
export const FIX = `
  const text = fs.readFileSync("README.md", "utf8");
  fs.writeFileSync("README.md", text.replace("Teh", "The"));
`;

/** Makes an agent that adds a page and says so. */
export function addsPage(page: string): [string, string, string] {
  return ["sh", "-c", `echo ${page} > docs/${page}.md; echo Add ${page}`];
}

/** The turn after one whose agent added the page `one`. */
export const FOLLOW_UP = {
  prompt: "More",
  earlierTurns: [{ prompt: "Fix the typo", summary: "Add one" }],
};

/** A requester with a name that mentions somebody. */
export const REQUESTER = {
  name: "Ana @ops",
  link: "https://acme.slack.com/archives/C1/p1",
  isPrivate: false,
};

/** Makes the script of an agent that says these lines. */
export function said(...lines: string[]): string {
  return `console.log(${JSON.stringify(lines.join("\n"))});`;
}

/** Returns the part of a pull request's text above the fold. */
export function above(body: string | null | undefined): string {
  return (body ?? "").split("<details>")[0] ?? "";
}
