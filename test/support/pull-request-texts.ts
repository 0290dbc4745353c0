import type { ServiceProject } from "../../src/service/config/config.ts";

/** Settings of pull requests, as they are where a project says nothing of them. */
export const SETTINGS: ServiceProject["pullRequests"] = {
  draft: false,
  labels: [],
  reviewers: [],
  assignees: [],
  titleTemplate: "{title}",
  branchPrefix: "docs-agent/",
  requester: "auto",
};

/** Settings of commits, likewise. */
export const COMMIT_SETTINGS: ServiceProject["commits"] = {
  signOff: false,
  signingKeyFile: null,
  by: "git",
};

/** What an agent does: it mends the readme's typo. */
export const FIX = `
  const text = fs.readFileSync("README.md", "utf8");
  fs.writeFileSync("README.md", text.replace("Teh", "The"));
`;

/** An agent that adds a page and says so. */
export function addsPage(page: string): [string, string, string] {
  return ["sh", "-c", `echo ${page} > docs/${page}.md; echo Add ${page}`];
}

/** The turn after one whose agent added the page `one`. */
export const FOLLOW_UP = {
  prompt: "More",
  earlierTurns: [{ prompt: "Fix the typo", summary: "Add one" }],
};

export const REQUESTER = {
  name: "Ana @ops",
  link: "https://acme.slack.com/archives/C1/p1",
  isPrivate: false,
};

/** What an agent does: it says these lines. */
export function said(...lines: string[]): string {
  return `console.log(${JSON.stringify(lines.join("\n"))});`;
}

/** What of a pull request's text stands above the fold. */
export function above(body: string | null | undefined): string {
  return (body ?? "").split("<details>")[0] ?? "";
}
