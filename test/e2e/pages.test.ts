// @module-tag chromium
// @module-tag all
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { renderedSamples } from "../../gallery/gallery.ts";
import { galleryPage } from "../../gallery/page.ts";
import { pullRequestsPage, writtenPullRequests } from "../../gallery/pull-requests.ts";
import { faultsOfPage, startBrowser } from "../support/browser.ts";
import { ask, inChannel, openChannel, openPlayground, openPullRequest } from "../support/playground-page.ts";
import { ServiceFolder } from "../support/service-process.ts";
import { answerAll } from "../support/setup-page.ts";
import { openSetupPlace } from "../support/setup-place.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { need } from "../support/need.ts";

let browser: Browser;
beforeAll(async () => void (browser = await startBrowser()));
afterAll(() => browser.close());

type Look = (page: Page, name: string) => Promise<void>;

/** Every page of ours that people open, in its states, as far as they look different. */
const PAGES: Record<string, (look: Look, tab: Page) => Promise<void>> = {
  "the setup": async (look, tab) => {
    need("bubblewrap");
    await using place = await openSetupPlace();
    await tab.goto(await place.start().page());
    await answerAll(tab, place.repository, (step) => look(tab, `setup, ${step}`));
  },
  "the page that makes a GitHub App": async (look, tab) => {
    await using folder = await ServiceFolder.open({});
    const command = folder.start("github-app", "--name", "Acme Docs", "--org", "acme");
    await command.wrote(/Open http:\S+/);
    const [, url = ""] = /Open (http:\S+)/.exec(command.stdout) ?? [];
    await tab.goto(url);
    await look(tab, "GitHub App");
  },
  "the playground and its pull requests": async (look) => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    await look(at.tab, "playground, at first");
    await openChannel(at.tab, "docs");
    await ask(at.tab, "fix the typos in the quickstart");
    const root = inChannel(at.tab).filter({ hasText: "fix the typos in the quickstart" });
    await root.getByText("tidepool/docs#").waitFor();
    await root.getByRole("button", { name: /^1 reply/ }).click();
    const { page } = await openPullRequest(at.tab);
    await look(at.tab, "playground, with a thread");
    await look(page, "a pull request of the playground");
    await page.goto(new URL("/tidepool/docs", page.url()).href);
    await look(page, "a repository of the playground");
  },
  "all messages": async (look, tab) => {
    await using dir = await openTempDir();
    writeFileSync(dir.file("messages.html"), galleryPage(renderedSamples()));
    await tab.goto(pathToFileURL(dir.file("messages.html")).href);
    await tab.getByRole("article").first().waitFor();
    await look(tab, "messages");
    writeFileSync(dir.file("pulls.html"), pullRequestsPage(writtenPullRequests()));
    await tab.goto(pathToFileURL(dir.file("pulls.html")).href);
    await look(tab, "texts of pull requests");
  },
};

it.each(Object.entries(PAGES))(
  "is for everybody, in light and dark, on a phone and by the keyboard: %s",
  { timeout: 300_000 },
  async (_, open) => {
    const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const faults: string[] = [];
    await open(async (page, name) => void faults.push(...(await faultsOfPage(page, name))), tab);
    expect(faults).toEqual([]);
    await tab.close();
  },
);
