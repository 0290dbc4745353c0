// @module-tag nightly
// @module-tag chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser, violationsOf } from "../support/browser.ts";
import {
  ask,
  inChannel,
  inThread,
  openChannel,
  openPlayground,
  openPullRequest,
  shoot,
} from "../support/playground-page.ts";
import { openTempDir } from "../support/temp-dir.ts";

describe("the playground", { timeout: 300_000 }, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("has words to the requester taken off the page, and says so in the thread and the pull request", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    await tab.getByRole("button", { name: "Weather: clear" }).click();
    await tab.getByRole("radio", { name: "Chats on the page" }).click();
    await tab.getByRole("button", { name: "Weather: Agent chats" }).waitFor();
    await tab.keyboard.press("Escape");
    await ask(tab, "fix the typos in the quickstart");
    const root = inChannel(tab).filter({ hasText: "fix the typos in the quickstart" });
    await root.getByText("tidepool/docs#").waitFor();
    await root.getByRole("button", { name: /^1 reply/ }).click();
    const outcome = inThread(tab).last();
    await outcome.getByText("The project's check found words to you on the page.").waitFor();
    expect(await outcome.innerText()).toContain("Our checks passed: hygiene, links");
    expect(await violationsOf(tab)).toEqual([]);
    await shoot(tab, "hygiene-thread");
    const { page, text } = await openPullRequest(tab);
    expect(text).toContain("The project's check found words to you on the page.");
    expect(text).toContain("Our checks passed: hygiene, links");
    expect(text).not.toMatch(/Certainly|Draft/);
    expect(text).toContain("receive");
    await shoot(page, "hygiene-pull-request");
  });
});
