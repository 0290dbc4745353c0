// @module-tag nightly
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
  shoot,
  shootBoth,
} from "../support/playground-page.ts";
import { openTempDir } from "../support/temp-dir.ts";

describe("the playground", { timeout: 180_000 }, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("tells in the thread what becomes of the pull request, up to its merge", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    await ask(tab, "rename “Create a key” to “Make a key”");
    const root = inChannel(tab).filter({ hasText: "rename “Create a key”" });
    await root.getByText("tidepool/docs#").waitFor();
    await root.getByRole("button", { name: /^\d repl/ }).click();
    const { page } = await openPullRequest(tab);
    await shootBoth(page, "1-opened");

    await inThread(tab).getByText('"anchors" failed on tidepool/docs#1').waitFor();
    await root.getByText("❌ Checks failed").waitFor();
    await page.reload();
    await page.getByText("docs/quickstart.md has no heading #2-create-a-key").waitFor();
    expect(await page.getByRole("button", { name: "Merge" }).isDisabled()).toBe(true);
    await shootBoth(tab, "2-check-failed");

    await page
      .getByRole("textbox", { name: /What do you say/ })
      .fill("The link in the API's README is lost.");
    await page.getByRole("button", { name: "Request changes" }).click();
    const asked = inThread(tab).filter({ hasText: "priya asks for changes in tidepool/docs#1" });
    // Reviews within a minute are one post.
    await asked.getByText("The link in the API's README is lost.").waitFor({ timeout: 120_000 });
    await shootBoth(tab, "3-changes-requested");
    await shootBoth(page, "3-changes-requested-page");

    const composer = tab.getByRole("textbox", { name: "Reply in thread" });
    await composer.fill("@docs-agent replace quickstart.md#2-create-a-key with quickstart.md#2-make-a-key");
    await composer.press("Enter");
    await inThread(tab).getByText("The agent updated tidepool/docs#1").waitFor();
    // The check passes again, and after a push it's the reviewer's turn.
    await root.getByText("👀 Waiting for review").waitFor();
    await shootBoth(tab, "4-updated");
    await page.reload();
    await approveAndMerge(page);
    await inThread(tab).getByText("tidepool/docs#1 is merged.").waitFor();
    await root.getByText("🎉 Merged").waitFor();
    await shootBoth(tab, "5-merged");
    await shootBoth(page, "5-merged-page");
    expect(await inThread(tab).getByText("is merged.").count()).toBe(1);
    for (const shown of [tab, page]) expect(await violationsOf(shown)).toEqual([]);
  });

  it("checks what the agent did: a broken link goes back to it, one that stays makes a draft", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    await ask(tab, "replace refrence.md with references.md");
    const mended = inChannel(tab).filter({ hasText: "references.md" });
    await mended.getByText("tidepool/docs#").waitFor();
    await mended.getByRole("button", { name: /^1 reply/ }).click();
    await inThread(tab).last().getByText("The project's check found broken links").waitFor();

    await ask(tab, "replace configuration.md with settings.md");
    const left = inChannel(tab).filter({ hasText: "settings.md" });
    await left.getByText("tidepool/docs#").waitFor();
    await left.getByRole("button", { name: /^1 reply/ }).click();
    const outcome = inThread(tab).last();
    await outcome.getByText(/broken link to/).waitFor();
    await outcome
      .getByText(/configuration\.md → settings\.md/)
      .first()
      .waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    const { page, text } = await openPullRequest(tab);
    expect(text).toContain("Draft");
    expect(text).toContain("This is a draft because a check found something new.");
    expect(await violationsOf(page)).toEqual([]);
    await shoot(tab, "draft-thread");
    await shoot(page, "draft-pull-request");
    await page.close();
  });

  it("answers a question, and asks before a colleague's sentence gets public", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    await ask(tab, "does the CLI support --port?");
    const asked = inChannel(tab).filter({ hasText: "support --port" });
    await asked.getByText("💬 Answered").waitFor();
    await asked.getByRole("button", { name: /^1 reply/ }).click();
    await inThread(tab).last().getByText("💬").waitFor();
    await shoot(tab, "answer");

    const message = inChannel(tab).filter({ hasText: "The quickstart has typos" });
    await message.hover();
    await message.getByRole("button", { name: "More actions" }).click();
    await tab.getByRole("menuitem", { name: /Fix these docs/ }).click();
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form.getByRole("textbox", { name: "What should change?" }).fill("add this to the FAQ");
    await form.getByRole("button", { name: "Send" }).click();
    await form.waitFor({ state: "detached" });
    await message.getByRole("button", { name: /repl/ }).click();
    const question = inThread(tab).filter({ hasText: "May these words be published?" });
    await question.getByRole("button", { name: "Publish" }).waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    await shoot(tab, "publish");
    await question.getByRole("button", { name: "Publish" }).click();
    await inThread(tab).last().getByText("Your pull request is ready").waitFor();
  });

  it("shows a newcomer around, with the keyboard alone; the agent is slow and is stopped, then it fails", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    const press = async (...keys: string[]) => {
      for (const key of keys) await tab.keyboard.press(key);
    };
    const card = tab.getByRole("region", { name: "Try Docs Agent" });
    expect(await violationsOf(tab)).toEqual([]);
    await card.getByRole("button", { name: "Ask for a change" }).press("Enter");
    const field = tab.getByRole("textbox", { name: "Message #docs" });
    await expect.poll(() => field.inputValue()).toBe("/docs-agent fix the typos in the quickstart");
    await press("Enter");
    await inChannel(tab)
      .filter({ hasText: "fix the typos in the quickstart" })
      .getByText("tidepool/docs#")
      .waitFor();
    // It has folded to leave room to the answer.
    const next = card.getByRole("button", { name: "Fix what a message says" });
    expect(await next.isVisible()).toBe(false);
    await card.getByText("Try Docs Agent").click();
    await next.press("Enter");
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form.getByText("The agent will see").waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    await press("Escape");
    await form.waitFor({ state: "detached" });
    await card.getByRole("button", { name: "Close the card" }).press("Enter");
    await card.waitFor({ state: "hidden" });

    await tab.getByRole("button", { name: "Weather: clear" }).press("Enter");
    await tab.getByRole("radio", { name: "Is slow" }).press("Space");
    await tab.getByRole("button", { name: "Weather: Agent slow" }).waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    await press("Escape");
    await field.focus();
    await tab.keyboard.type("/docs-agent fix the FAQ");
    await press("Enter");
    const slow = inChannel(tab).filter({ hasText: "fix the FAQ" });
    await slow.getByText("Read docs/faq.md").waitFor();
    await slow.getByRole("button", { name: "Stop" }).press("Enter");
    await tab
      .getByRole("dialog", { name: "Stop this request?" })
      .getByRole("button", { name: "Stop" })
      .press("Enter");
    await slow.getByText("⏹️ Stopped").waitFor();
    expect(await slow.getByRole("button", { name: "Stop" }).count()).toBe(0);

    await tab.getByRole("button", { name: "Weather: Agent slow" }).press("Enter");
    await tab.getByRole("radio", { name: "Fails" }).press("Space");
    await tab.getByRole("button", { name: "Weather: Agent fails" }).waitFor();
    await press("Escape");
    await field.focus();
    await tab.keyboard.type("/docs-agent fix the broken links");
    await press("Enter");
    const failed = inChannel(tab).filter({ hasText: "fix the broken links" });
    await failed.getByRole("button", { name: /^1 reply/ }).press("Enter");
    await inThread(tab).last().getByText("The playground's weather makes the agent fail.").waitFor();
    await inThread(tab).last().getByRole("button", { name: "Try again" }).waitFor();
    expect(await violationsOf(tab)).toEqual([]);
  });

  it("works on a phone in the dark: less is shared, a list, a direct message, a guest", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await tab.emulateMedia({ colorScheme: "dark" });
    await tab.setViewportSize({ width: 390, height: 844 });
    const looksRight = async () => {
      expect(await violationsOf(tab)).toEqual([]);
      expect(await tab.evaluate("document.documentElement.scrollWidth")).toBe(390);
    };
    await looksRight();
    await tab.getByRole("button", { name: "Close the card" }).click();

    const message = inChannel(tab).filter({ hasText: "The quickstart has typos" });
    await message.hover();
    await message.getByRole("button", { name: "More actions" }).click();
    await tab.getByRole("menuitem", { name: /Fix these docs/ }).click();
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form.getByRole("checkbox", { name: /Priya/ }).uncheck();
    await looksRight();
    await form.getByRole("textbox", { name: "What should change?" }).fill("fix the typos in the quickstart");
    await form.getByRole("button", { name: "Send" }).click();
    await form.waitFor({ state: "detached" });
    await message.getByRole("button", { name: /replies/ }).click();
    await inThread(tab).last().getByText("Your pull request is ready").waitFor();
    await looksRight();
    await tab.getByRole("button", { name: "Close this pane" }).click();

    await ask(tab, "list");
    const list = inChannel(tab).filter({ hasText: "Your requests" });
    await list.getByRole("link", { name: "fix the typos in the quickstart" }).waitFor();
    await looksRight();

    await tab.getByLabel("I am").selectOption({ label: "Theo Banerjee" });
    await tab.getByRole("button", { name: "Conversations" }).click();
    await looksRight();
    await openChannel(tab, "docs-agent");
    await tab.getByRole("button", { name: "Fix the broken links in the docs" }).waitFor();
    const field = tab.getByRole("textbox", { name: /^Message / });
    await field.fill("fix the FAQ");
    // A draft is still there after a reload.
    await tab.reload();
    await expect.poll(() => field.inputValue()).toBe("fix the FAQ");
    await field.press("Enter");
    await inChannel(tab).filter({ hasText: "fix the FAQ" }).getByRole("button", { name: /repl/ }).click();
    await inThread(tab).last().getByText("Your pull request is ready").waitFor();
    await looksRight();

    await tab.getByLabel("I am").selectOption({ label: "Kim Sato (guest)" });
    await tab.getByRole("heading", { name: "#docs" }).waitFor();
    await ask(tab, "fix the typos on the install page");
    await inChannel(tab).getByText("Sorry, only members of this workspace can use Docs Agent.").waitFor();
    await looksRight();
  });

  it("loses nothing in bad weather: the job service down, then up; the app killed, then started", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    await tab.getByRole("button", { name: /Weather/ }).click();
    const down = tab.getByRole("switch", { name: "Job service is down" });
    await down.check();
    await tab.keyboard.press("Escape");
    await ask(tab, "fix the typos in the quickstart");
    const root = inChannel(tab).filter({ hasText: "fix the typos in the quickstart" });
    await root.getByText("The agent is unavailable").waitFor();

    await tab.getByRole("button", { name: /Weather/ }).click();
    const killed = tab.getByRole("switch", { name: "The app is killed" });
    await killed.check();
    await down.uncheck();
    await killed.uncheck();
    await tab.keyboard.press("Escape");
    await root.getByText("tidepool/docs#").waitFor();
    await root.getByRole("button", { name: /^1 reply/ }).click();
    await openPullRequest(tab);
    expect(
      await inThread(tab)
        .getByRole("link", { name: /^View pull request/ })
        .count(),
    ).toBe(1);
  });

  it("has everything still there after it was stopped and started again", async () => {
    await using dir = await openTempDir();
    {
      await using at = await openPlayground(browser, dir.file("playground"));
      await openChannel(at.tab, "docs");
      await ask(at.tab, "fix the typos in the quickstart");
      await inChannel(at.tab).getByText("tidepool/docs#").first().waitFor();
    }
    await using again = await openPlayground(browser, dir.file("playground"));
    await openChannel(again.tab, "docs");
    // By then the service may have looked at the pull request.
    const outcome = /tidepool\/docs#|Waiting for review/;
    await inChannel(again.tab).getByText(outcome).first().waitFor();
    const pulls = await fetch(`${again.playground.codeHostUrl}/api/v3/repos/tidepool/docs/pulls?state=all`);
    expect(await pulls.json()).toHaveLength(1);
  });
});
