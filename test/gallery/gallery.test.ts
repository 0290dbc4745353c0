import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { WebClient } from "@slack/web-api";
import { expect, it } from "vitest";
import { createSlackSide } from "../../world/slack/index.ts";
import { askSlack, faultLines, faultsOf, renderedSamples } from "../../gallery/gallery.ts";
import { galleryPage } from "../../gallery/page.ts";
import { pullRequestsPage, writtenPullRequests } from "../../gallery/pull-requests.ts";
import { startBrowser, violationsOf } from "../support/browser.ts";
import { silentSlackLogger } from "../support/silent-slack-logger.ts";
import { openTempDir } from "../support/temp-dir.ts";

const MAIN = fileURLToPath(new URL("../../gallery/main.ts", import.meta.url));
const BOT_TOKEN = "xoxb-1234567890-abcdefghijkl";
const tooLong = {
  text: "x",
  blocks: [{ type: "header", text: { type: "plain_text", text: "x".repeat(151) } }],
};

it("Slack takes every message, the longest, too", () => {
  expect(faultLines(renderedSamples())).toEqual([]);
});

it("says what Slack would refuse", () => {
  expect(faultsOf(tooLong as never)).toEqual([expect.stringContaining("must be less than 151 characters")]);
});

it("asks Slack itself about each message where there is a token", async () => {
  await using slack = await createSlackSide({ scopes: [], signingSecret: "secret", botToken: BOT_TOKEN });
  const client = new WebClient(BOT_TOKEN, { slackApiUrl: slack.apiUrl, logger: silentSlackLogger });
  const groups = renderedSamples();
  await askSlack(groups, client);
  expect(faultLines(groups)).toEqual([]);
  const broken = [{ title: "kept", messages: [{ name: "kept", content: tooLong as never, faults: [] }] }];
  await askSlack(broken, client);
  expect(faultLines(broken)).toEqual([expect.stringMatching(/^kept, kept: Slack: .*"invalid_message"/)]);
});

it("writes one file, which says where it is", async () => {
  await using dir = await openTempDir();
  const file = dir.file("messages.html");
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--no-warnings", MAIN, "--out", file], { env: {} });
  expect(stdout).toMatch(/^Wrote \d+ messages\. Open file:\/\//);
  expect(stdout).toContain(pathToFileURL(file).href);
  expect(readFileSync(file, "utf8")).toContain("<!doctype html>");
});

it("shows ten kinds of pull requests with titles, texts and commits", () => {
  const pulls = writtenPullRequests();
  expect(pulls.map(({ title }) => title)).toEqual([
    "Correct 1 misspelling in docs/quickstart.md",
    "Name the package tidepool-cli in every install command",
    "Correct 3 misspellings, repair 1 link in docs/quickstart.md",
    "Fix typos and links in FAQ and install",
    'Rename "Create a key" to "Make a key" in docs/quickstart.md',
    "Explain when the client asks again",
    "Remove the page about the old command line",
    'Rename "workspace key" to "team key" in 9 pages',
    "Correct the default timeout; say how often the client retries",
    "Correct 3 misspellings, repair 1 link in docs/quickstart.md",
  ]);
  for (const { body, commits } of pulls) {
    expect(body).toMatch(/<!-- docs-agent:start -->\n\n(?!I am|I couldn't|Sure)/);
    expect(body).toContain("<summary>What was asked</summary>");
    for (const commit of commits) expect(commit).toMatch(/^.{1,72}\n\n[^]*\nDocs-Agent-Turn: /);
  }
  const drawn = pullRequestsPage(pulls);
  expect(drawn).toContain("<strong>Our checks passed:</strong> links");
  expect(drawn.split("<article>")).toHaveLength(11);
});

it("its page draws every message in both themes, and fits a phone", { tags: "nightly" }, async () => {
  await using dir = await openTempDir();
  await using browser = await startBrowser();
  const groups = renderedSamples();
  const count = groups.reduce((sum, { messages }) => sum + messages.length, 0);
  const file = dir.file("messages.html");
  writeFileSync(file, galleryPage(groups));
  const tab = await browser.newPage({ viewport: { width: 390, height: 800 } });
  const faults: string[] = [];
  tab.on("pageerror", (error) => faults.push(error.message));
  tab.on("request", (request) => {
    if (/^https?:/.test(request.url())) faults.push(`it loads ${request.url()}`);
  });
  await tab.goto(pathToFileURL(file).href);
  await tab
    .getByRole("article")
    .nth(count - 1)
    .waitFor();
  expect(await tab.locator(".theme-light .content").count()).toBe(count);
  expect(await tab.locator(".theme-dark .content").count()).toBe(count);
  expect(await tab.locator(".unsupported, .fault").count()).toBe(0);
  const form = tab.getByRole("article", { name: "for a thread", exact: true }).locator(".theme-light");
  expect(await form.innerText()).toContain("Uncheck what you don't want to share.");
  expect(await tab.evaluate<number>("document.documentElement.scrollWidth")).toBe(390);
  expect(await tab.locator('[data-focus*="undefined"]').count()).toBe(0);
  expect(await violationsOf(tab)).toEqual([]);
  expect(faults).toEqual([]);
});
