import type { ServiceProject } from "../../service/config/config.ts";

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

/** What an agent does: it mends the readme's typo. */
export const FIX = `
  const text = fs.readFileSync("README.md", "utf8");
  fs.writeFileSync("README.md", text.replace("Teh", "The"));
`;

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
