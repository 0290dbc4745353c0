// @module-tag all

import { Octokit } from "@octokit/rest";
import { expect, it } from "vitest";
import { FILES, openPullRequest, openTestHost, OWNER, QUIET, refusal, REPO, TOKEN } from "./setup.ts";

const at = { owner: OWNER, repo: REPO };
const TOKENS = [
  TOKEN,
  { token: "narrow", kind: "fine-grained" },
  { token: "ci", login: "checks[bot]", kind: "installation" },
] as const;

async function open() {
  const test = await openTestHost(FILES, { tokens: TOKENS });
  await openPullRequest(test, "fix", { "README.md": "mine\n" });
  const as = (auth: string) => new Octokit({ auth, baseUrl: test.host.apiUrl, log: QUIET }).rest;
  return { test, as, head: await test.tip("fix") };
}

const LINK = "https://ci.example.com/17";
const CHECKS = `{ repository(owner: "tidepool", name: "docs") { pullRequest(number: 1) {
  commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 50) { nodes {
    ... on CheckRun {
      databaseId name title summary text detailsUrl url
      annotations(first: 1) {
        totalCount pageInfo { hasNextPage endCursor }
        nodes { path location { start { line } end { line } } message title annotationLevel }
      }
    }
    ... on StatusContext { context description targetUrl }
  } } } } } } } } }`;

it("tells what a check says: its texts, its link and what it says of lines", async () => {
  const { test, as, head } = await open();
  await using _test = test;
  await test.host.setCheck(OWNER, REPO, {
    sha: head,
    name: "links",
    result: "failed",
    summary: "2 broken links",
    text: "See below.",
    link: LINK,
    annotations: [
      { path: "README.md", startLine: 1, message: "Not found: /start" },
      { path: "docs/ñ.md", startLine: 3, endLine: 4, message: "Moved", level: "warning", title: "Moved" },
    ],
  });
  const { data } = await as(TOKEN).checks.listForRef({ ...at, ref: head });
  const [run] = data.check_runs;
  expect(run).toMatchObject({
    details_url: LINK,
    html_url: `${test.host.url}/tidepool/docs/runs/${run?.id}`,
    output: { title: "2 broken links", summary: "2 broken links", text: "See below.", annotations_count: 2 },
  });
  const ask = { ...at, check_run_id: run?.id ?? 0, per_page: 1 };
  const second = await as(TOKEN).checks.listAnnotations({ ...ask, page: 2 });
  expect(second.data).toMatchObject([
    {
      path: "docs/ñ.md",
      start_line: 3,
      end_line: 4,
      annotation_level: "warning",
      title: "Moved",
      message: "Moved",
      blob_href: `${test.host.url}/tidepool/docs/blob/${head}/docs/%C3%B1.md`,
    },
  ]);
  expect(await refusal(as("narrow").checks.listAnnotations(ask))).toMatchObject({ status: 403 });
  expect(await refusal(as(TOKEN).checks.listAnnotations({ ...at, check_run_id: 1 }))).toMatchObject({
    status: 404,
  });
});

it("tells the same by GraphQL, and where a status leads", async () => {
  const { test, as, head } = await open();
  await using _test = test;
  const annotations = [1, 2].map((startLine) => ({
    path: "README.md",
    startLine,
    message: `Line ${startLine}`,
  }));
  const check = { sha: head, name: "links", result: "failed", summary: "Broken", annotations } as const;
  await test.host.setCheck(OWNER, REPO, check);
  const status = { ...at, sha: head, state: "failure", context: "build", target_url: LINK } as const;
  await as(TOKEN).repos.createCommitStatus({ ...status, description: "It broke" });
  const told = await test.octokit.graphql(CHECKS);
  expect(told).toMatchObject({
    repository: {
      pullRequest: {
        commits: {
          nodes: [
            {
              commit: {
                statusCheckRollup: {
                  contexts: {
                    nodes: [
                      {
                        name: "links",
                        title: "Broken",
                        text: null,
                        url: expect.stringMatching(/\/tidepool\/docs\/runs\/\d+$/),
                        annotations: {
                          totalCount: 2,
                          pageInfo: { hasNextPage: true },
                          nodes: [
                            {
                              path: "README.md",
                              location: { start: { line: 1 }, end: { line: 1 } },
                              message: "Line 1",
                              title: null,
                              annotationLevel: "FAILURE",
                            },
                          ],
                        },
                      },
                      { context: "build", description: "It broke", targetUrl: LINK },
                    ],
                  },
                },
              },
            },
          ],
        },
      },
    },
  });
  const [, cursor] = /"endCursor":"([^"]+)"/.exec(JSON.stringify(told)) ?? [];
  const next = CHECKS.replace("annotations(first: 1)", `annotations(first: 1, after: "${cursor}")`);
  const rest = JSON.stringify(await test.octokit.graphql(next));
  expect(rest).toContain('"message":"Line 2"');
  expect(rest).not.toContain('"message":"Line 1"');
});

it("takes an App's annotations, at most 50 at a time, and adds those that come later", async () => {
  const { test, as, head } = await open();
  await using _test = test;
  const { checks } = as("ci");
  const said = (count: number) => ({
    title: "Words",
    summary: "Words are wrong",
    annotations: Array.from({ length: count }, (_, index) => ({
      path: "README.md",
      start_line: index + 1,
      end_line: index + 1,
      annotation_level: "failure" as const,
      message: "recieve",
    })),
  });
  const wanted = { ...at, name: "words", head_sha: head, status: "in_progress" } as const;
  const { data: run } = await checks.create({ ...wanted, output: said(50) });
  const more = { ...at, check_run_id: run.id, conclusion: "failure" } as const;
  const { data } = await checks.update({ ...more, output: said(2) });
  expect(data.output.annotations_count).toBe(52);
  expect(await refusal(checks.update({ ...more, output: said(51) }))).toMatchObject({ status: 422 });
});
