// @module-tag all

import { expect, it } from "vitest";
import { REFUSAL_NAMES, type RefusalName, refusing } from "../../../world/code-host/index.ts";
import { openPullRequest, openTestHost, OWNER, refusal, REPO, type TestHost } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const PULL = { ...at, pull_number: 1 };

/** The call that a refusal is about. */
function call({ octokit: { rest } }: TestHost, name: RefusalName): Promise<unknown> {
  switch (name.replace(/^(reply|ask-again|deployments|update|merge|move|role)-.*/, "$1")) {
    case "reply":
      return rest.pulls.createReplyForReviewComment({ ...PULL, comment_id: 1, body: "Done." });
    case "ask-again":
      return rest.pulls.requestReviewers({ ...PULL, reviewers: ["mira"] });
    case "deployments":
      return rest.repos.listDeployments({ ...at, ref: "fix" });
    case "update":
      return rest.pulls.updateBranch(PULL);
    case "merge":
      return rest.repos.merge({ ...at, base: "fix", head: "main" });
    case "move":
      return rest.git.updateRef({ ...at, ref: "heads/fix", sha: "1".repeat(40) });
    default:
      return rest.repos.getCollaboratorPermissionLevel({ ...at, username: "mira" });
  }
}

it("refuses by name what GitHub refuses, and serves all else", async () => {
  await using test = await openTestHost();
  await openPullRequest(test, "fix", { "a.md": "a\n" });
  const told: Record<string, string> = {};
  for (const name of REFUSAL_NAMES) {
    test.host.traffic.fault = refusing(name);
    const { status, message } = await refusal(call(test, name));
    told[name] = `${status} ${message.split(".")[0]}`;
    expect((await test.octokit.rest.pulls.get(PULL)).status).toBe(200);
  }
  expect(told).toMatchInlineSnapshot(`
    {
      "ask-again-author": "422 Review cannot be requested from pull request author",
      "ask-again-not-accessible": "403 Resource not accessible by integration",
      "ask-again-stranger": "422 Reviews may only be requested from collaborators",
      "deployments-gone": "404 Not Found",
      "deployments-limited": "403 You have exceeded a secondary rate limit",
      "deployments-not-accessible": "403 Resource not accessible by integration",
      "merge-conflict": "409 Merge conflict",
      "merge-not-accessible": "403 Resource not accessible by integration",
      "move-not-forward": "422 Update is not a fast forward",
      "move-rules": "422 Repository rule violations found

    Cannot update this protected ref",
      "reply-gone": "404 Not Found",
      "reply-limited": "403 You have exceeded a secondary rate limit",
      "reply-locked": "422 Unprocessable Entity",
      "reply-not-accessible": "403 Resource not accessible by integration",
      "role-not-visible": "403 Must have push access to view collaborator permission",
      "role-unknown": "404 Not Found",
      "update-conflict": "422 merge conflict between base and head",
      "update-head-moved": "422 expected head sha didn’t match current head ref",
      "update-limited": "403 You have exceeded a secondary rate limit",
      "update-not-accessible": "403 Resource not accessible by integration",
      "update-nothing-new": "422 There are no new commits on the base branch",
      "update-workflows": "403 refusing to allow a GitHub App to create or update workflow \`",
    }
  `);
});

it("names the permission that an App lacks, and when to come back", async () => {
  await using test = await openTestHost();
  test.host.traffic.fault = refusing("deployments-not-accessible", "update-limited");
  const headersOf = async (name: RefusalName) =>
    call(test, name).catch((thrown: { response: { headers: object } }) => thrown.response.headers);
  expect(await headersOf("deployments-not-accessible")).toMatchObject({
    "x-accepted-github-permissions": "deployments=read",
  });
  expect(await headersOf("update-limited")).toMatchObject({ "retry-after": "60" });
});
