import { expect, it } from "vitest";
import { pageAddress, isLiveUrl } from "../../../src/service/config/page-address.ts";
import { previewOf } from "../../../src/service/pulls/follow/preview.ts";
import { fixedToken } from "../../../src/service/pulls/code-host/token-provider.ts";
import { GitHubFollowedHost } from "../../../src/service/pulls/code-host/github-followed-host.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { installed } from "../../world/code-host/installed.ts";
import { openPullRequest, openTestHost, OWNER, REPO } from "../../world/code-host/setup.ts";
import { type FollowingWorld, openFollowingWorld } from "../../support/following-world.ts";

const MINUTE = 60_000;
const PROJECT = { previewHosts: ["*.preview.example.com"], liveUrl: "http://127.0.0.1:9/{docs/path}" };

async function deploy({ mine, at }: FollowingWorld, ref: string, url: string, state = "success" as const) {
  const made = await mine.repos.createDeployment({
    ...at,
    ref,
    environment: "preview",
    auto_merge: false,
    required_contexts: [],
  });
  const { id } = made.data as { id: number };
  await mine.repos.createDeploymentStatus({ ...at, deployment_id: id, state, environment_url: url });
}

it("tells where the change can be looked at, until the pull request is merged", async () => {
  await using world = await openFollowingWorld({ project: PROJECT });
  const { id, sha, pull } = await world.job({
    "docs/guides/index.md": "# Guides\n\nRead them.\n",
    "docs/a.md": "# A\n",
    "README.md": "# Tidepool\n\nMany\n\nmore\n\nlines\n",
  });
  await world.pass(MINUTE);
  expect(await world.record(id)).not.toHaveProperty("preview");
  await deploy(world, sha, "https://pr-1.preview.example.com/");
  await deploy(world, sha, "https://elsewhere.example.com/");
  await world.pass(3 * MINUTE);
  expect(await world.record(id)).toMatchObject({ preview: "https://pr-1.preview.example.com/guides" });
  await world.mine.pulls.merge(pull);
  await world.pass(2 * MINUTE);
  expect(await world.record(id)).not.toHaveProperty("preview");
});

it("hears of a preview at once by a webhook", async () => {
  await using world = await openFollowingWorld({ project: PROJECT, hasWebhook: true, pollSeconds: 3600 });
  const { id, sha } = await world.job({ "docs/new.md": "# New\n" });
  await world.pass(MINUTE);
  await deploy(world, sha, "https://pr-1.preview.example.com");
  await expect
    .poll(async () => (await world.record(id))?.preview)
    .toBe("https://pr-1.preview.example.com/new");
});

it("asks for no deployments unless the settings name hosts of previews", async () => {
  await using world = await openFollowingWorld();
  const { id, sha } = await world.job();
  await deploy(world, sha, "https://pr-1.preview.example.com/");
  await world.pass(3 * MINUTE);
  expect(await world.record(id)).not.toHaveProperty("preview");
});

it("tells all the rest to an App that may not read deployments", async () => {
  await using test = await openTestHost();
  const number = await openPullRequest(test, "docs-agent/job-1", { "docs/new.md": "# New\n" });
  const permissions: Record<string, string> = { metadata: "read", contents: "read", pull_requests: "read" };
  permissions["checks"] = "read";
  permissions["statuses"] = "read";
  const auth = (await installed(test, permissions).auth({ type: "installation" })) as { token: string };
  const host = new GitHubFollowedHost({
    apiUrl: test.host.apiUrl,
    owner: OWNER,
    repo: REPO,
    tokens: fixedToken(auth.token, "T"),
    clock: new ManualClock(),
    redact: (text) => text,
    wantsPreviews: () => true,
  });
  const looks = await host.look([number], new AbortController().signal);
  const pages = [{ path: "docs/new.md", additions: 1 }];
  expect(looks.get(number)).toMatchObject({ number, checks: [], deployedTo: [], pages });
});

it.each([
  ["https://pr-1.preview.example.com/docs", "https://pr-1.preview.example.com/docs"],
  ["http://pr-1.preview.example.com/", null],
  ["https://preview.example.com/", null],
  ["https://pr-1.preview.example.com:8443/", null],
  ["https://pr-1.preview.example.com.evil.example/", null],
  ["https://user:secret@pr-1.preview.example.com/", null],
  ["https://pr-1.preview.example.com@evil.example/", null],
  ["javascript:alert(1)", null],
  ["https://", null],
])("makes of the address %s of a deployment: %s", (address, expected) => {
  const facts = { deployedTo: [address], pages: [] };
  expect(previewOf(facts, { ...PROJECT, liveUrl: undefined })).toBe(expected);
});

it.each([
  ["https://pr.preview.example.com/", "https://acme.com/docs/{path}", "/docs/a"],
  ["https://pr.preview.example.com/docs/", "https://acme.com/docs/{path}", "/docs/a"],
  ["https://pr.preview.example.com/pr-1/", "https://acme.com/{path}", "/pr-1/a"],
  ["https://pr.preview.example.com/?token=1#x", "https://acme.com/{path}.html", "/a.html"],
  ["https://pr.preview.example.com/x", "https://acme.com/{docs/path}", "/x"],
])("puts the page into the site at %s (%s)", (address, liveUrl, path) => {
  const facts = { deployedTo: [address], pages: [{ path: "a.md", additions: 1 }] };
  expect(previewOf(facts, { ...PROJECT, liveUrl })).toBe(`https://pr.preview.example.com${path}`);
});

it.each([
  ["https://x.com/{path}", "guides/install.mdx", "https://x.com/guides/install"],
  ["https://x.com/{path}", "guides/index.md", "https://x.com/guides"],
  ["https://x.com/{path}/", "README.md", "https://x.com/"],
  ["https://x.com/{path}/", "guides/readme.md", "https://x.com/guides/"],
  ["https://x.com/{path}.html", "guides/index.rst", "https://x.com/guides/index.html"],
  ["https://x.com/en/{site/docs/path}", "site/docs/a b#?.md", "https://x.com/en/a%20b%23%3F"],
  ["https://x.com/{docs/path}", "README.md", null],
  ["https://x.com/{path}", "docs/logo.png", null],
  ["https://x.com/{path}", "docs/_partials/a.md", null],
  ["https://x.com/{path}", ".github/a.md", null],
  ["https://x.com/{path}", `${"a".repeat(3000)}.md`, null],
])("finds by %s the address of %s: %s", (liveUrl, path, expected) => {
  expect(isLiveUrl(liveUrl)).toBe(true);
  expect(pageAddress(liveUrl, path)).toBe(expected);
});

it.each([
  "https://x.com/",
  "https://x.com/{path}/{path}",
  "https://{path}.x.com/",
  "https://x.com/?p={path}",
  "https://x.com/{path}#top",
  "https://x.com/{../path}/{",
  "https://me:secret@x.com/{path}",
  "http://x.com/{path}",
  "ftp://x.com/{path}",
  "{path}",
])("takes no liveUrl such as %s", (liveUrl) => {
  expect(isLiveUrl(liveUrl)).toBe(false);
});
