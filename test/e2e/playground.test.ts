// @module-tag chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser, violationsOf } from "../support/browser.ts";
import {
  approveAndMerge,
  ask,
  inChannel,
  inThread,
  openChannel,
  openPlayground,
  openPullRequest,
} from "../support/playground-page.ts";
import { openTempDir } from "../support/temp-dir.ts";

describe("the playground", { timeout: 300_000 }, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("turns a command into a pull request with the right diff, which a reply goes on with, and which can be merged", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    await ask(tab, "fix the typos in the quickstart");
    const root = inChannel(tab).filter({ hasText: "fix the typos in the quickstart" });
    await root.getByText("tidepool/docs#").waitFor();
    await root.getByRole("button", { name: /^1 reply/ }).click();
    const { page, text } = await openPullRequest(tab);
    expect(text).toContain("quickstart.md");
    expect(text).toContain("receive");
    expect(text).not.toContain("package.json");

    const composer = tab.getByRole("textbox", { name: "Reply in thread" });
    await composer.fill("@docs-agent fix the typos in the FAQ");
    await composer.press("Enter");
    await inThread(tab).getByText("The agent updated tidepool/docs#").waitFor();
    await page.reload();
    expect(await page.locator("body").innerText()).toContain("faq.md");
    await approveAndMerge(page);
    for (const shown of [tab, page]) expect(await violationsOf(shown)).toEqual([]);
  });

  it(
    "answers the agent's questions, by a button and by a form, with the keyboard alone",
    { tags: "nightly" },
    async () => {
      await using dir = await openTempDir();
      await using at = await openPlayground(browser, dir.file("playground"));
      const { tab } = at;
      await openChannel(tab, "docs");
      await ask(tab, "fix the typos on the instal page");
      const root = inChannel(tab).filter({ hasText: "fix the typos on the instal page" });
      await root.getByText("💬 Waiting for an answer").waitFor();
      await root.getByRole("button", { name: /^1 reply/ }).click();
      const first = inThread(tab).filter({ hasText: "Which one do you mean?" });
      await first.getByRole("button", { name: "docs/install.md" }).waitFor();
      await first.getByRole("button", { name: "Another page" }).press("Enter");
      await first.getByText("answered: Another page").waitFor();
      expect(await first.getByRole("button", { name: /docs|Another/ }).count()).toBe(0);

      const second = inThread(tab).filter({ hasText: "Type its name." });
      await second.getByRole("button", { name: "Answer…" }).press("Enter");
      const form = tab.getByRole("dialog", { name: "Answer the agent" });
      await form.getByText("Type its name.").waitFor();
      await tab.keyboard.type("FAQ");
      await form.getByRole("button", { name: "Send" }).press("Enter");
      await second.getByText("answered: FAQ").waitFor();
      await inThread(tab).last().getByText("Your pull request is ready").waitFor();
      const { text } = await openPullRequest(tab);
      expect(text).toContain("faq.md");
      expect(text).not.toContain("install.md");
    },
  );
});
