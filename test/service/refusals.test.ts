import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { KNOWN_REFUSALS, knownRefusal, quotedLine } from "../../src/service/pulls/code-host/refusals.ts";

const docs = readFileSync(new URL("../../docs/pull-requests.md", import.meta.url), "utf8");
const rows = [...docs.matchAll(/<tr><td>[^]*?<\/tr>/g)].map(([row]) =>
  [...row.matchAll(/<td>([^]*?)<\/td>/g)].map(([, cell = ""]) => cell.replaceAll(/\s+/g, " ")),
);

it("docs/pull-requests.md has a row for each known refusal, in order", () => {
  expect(rows.map((row) => row.slice(1))).toEqual(
    KNOWN_REFUSALS.map(({ reason, advice }) => [reason, advice]),
  );
});

it.each(rows)("says of %j: %s", (said = "", reason = "", advice = "") => {
  const found = knownRefusal([
    "Repository rule violations found for refs/heads/x.",
    said,
    "Found 1 violation:",
  ]);
  expect(found?.[0].startsWith(reason)).toBe(true);
  expect(found?.[1]).toBe(advice);
});

it.each([
  ["GitLab: Commit must be signed with a GPG key", "only takes commits with a verified signature"],
  ["GitLab: Author 'x@y' is not a member of team", "rule for the author of commits"],
  ["GitLab: Commit author's email 'x' does not follow the pattern '@acme'", "rule for the author of commits"],
  ["error: GH007: Your push would publish a private email address.", "rule for the author of commits"],
  ["push declined due to email privacy restrictions", "rule for the author of commits"],
  ["GitLab: Branch name does not follow the pattern '^feature/'", "rule for branch names"],
  ["policy: each commit message must name a ticket (DOC-123)", "rule for commit messages"],
  ['GitLab: File "a.bin" is larger than the allowed size of 10 MiB', "larger than the repository takes"],
  ["remote: fatal: pack exceeds maximum allowed size", "larger than the repository takes"],
  ["PUSH BLOCKED: Secrets detected in code changes", "looks like a secret"],
  ["GitLab: You are not allowed to push code to protected branches on this project.", "protected"],
  ["Gitea: Not allowed to push to protected branch main", "protected"],
  ["Resource protected by organization SAML enforcement.", "single sign-on"],
  ["Repository was archived so is read-only.", "archived"],
  ["GitLab: You cannot push to an archived project", "archived"],
  ["✖   type may not be empty [type-empty]", "rule for commit messages"],
  ["\u001b[31mBranch name\u001b[0m must start with feature/", "rule for branch names"],
  ["- File path length exceeds the limit of 50 characters", "which files may change"],
  ["this repository has exceeded its size limit of 10 GB by 5 MB", "A limit of the repository"],
  ["the account 'acme' has exceeded its user limit", "A limit of the repository"],
])("knows other hosts' words, too: %j", (said, reason) => {
  expect(knownRefusal([said])?.[0]).toContain(reason);
});

it("takes no warning for the reason, such as one about a file that is only rather large", () => {
  const lines = ["warning: GH001: Large files detected.", "- Commits must have verified signatures."];
  expect(knownRefusal(lines)?.[0]).toContain("verified signature");
});

it.each([
  ["Checking commit messages... ok", "Running secret scanning... passed", "Spelling: teh"],
  ["subject: docs: Add a page", "", "Signed-off-by: Docs Bot <bot@example.com>"],
  ["✓ commit message", "\u001b[32m✔\u001b[0m branch name", "✗ Spelling: teh"],
  [
    "[policy] verifying signed commits",
    "No secrets detected.",
    "Get help: https://x.example.com/#commitlint",
  ],
])("takes no check that passed for the reason: %j, %j", (...lines) => {
  expect(knownRefusal(lines)).toBeNull();
});

it.each([
  "Checking the commit message: FAILED",
  "The author is not OK",
  "Verifying author: must be at acme.com",
])("still knows a check that failed: %s", (line) => {
  expect(knownRefusal([line])).not.toBeNull();
});

it("says where a repository has moved", () => {
  const moved = [
    "This repository moved. Please use the new location:",
    "  https://git.example.com/acme/new.git",
  ];
  expect(knownRefusal(moved)?.[0]).toBe("The repository has moved to git.example.com/acme/new.");
});

it.each([
  [["", "=====", "GitLab: No pushes on Fridays.", "Ask Ana."], "No pushes on Fridays."],
  [["error: GH013: Repository rule violations found for refs/heads/x.", "", "- Be nice."], "Be nice."],
  [["Review all repository rules at https://x.example.com/a", "- Be nice."], "Be nice."],
  [
    ["error: GH013: Repository rule violations found for refs/heads/x."],
    "GH013: Repository rule violations found for refs/heads/x.",
  ],
  [["See https://x.example.com/a?b for more."], "See for more."],
  [["*** ERROR ***", "No pushes on Fridays."], "No pushes on Fridays."],
  [["+-----+", "| PUSH REJECTED |", "| No pushes on Fridays. |"], "No pushes on Fridays."],
  [["[pre-receive hook] rejected", "✗ docs/a.md: Spelling"], "docs/a.md: Spelling"],
  [["refs/heads/x: wants [A-Z]+.*"], "refs/heads/x: wants [A-Z]+.*"],
  [["Your push was rejected.", "pre-receive hook declined"], "Your push was rejected."],
])("quotes the first line that says something: %j", (lines, quoted) => {
  expect(quotedLine(lines)).toBe(`It said: “${quoted}”`);
});

it("quotes nothing that is long, a link, or of several lines", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 400 })), (lines) => {
      const quoted = quotedLine([...lines, `https://evil.example.com/${lines.join("")}`]) ?? "";
      expect(quoted.length).toBeLessThanOrEqual(220);
      expect(quoted).not.toMatch(/:\/\/|[\n\r]/);
    }),
  );
});
