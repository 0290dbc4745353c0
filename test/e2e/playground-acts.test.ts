// @module-tag nightly
// @module-tag chromium
import type { Browser, Page } from "playwright-core";
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
  shootAll,
} from "../support/playground-page.ts";
import { openTempDir } from "../support/temp-dir.ts";

/** News wait for more of their kind, and the code host is asked every few seconds. */
const NEWS_MS = 240_000;

/** Asks for a change, and opens the thread with its pull request. Resolves to the first message. */
async function linked(tab: Page, request: string) {
  await ask(tab, request);
  const root = inChannel(tab).filter({ hasText: request.slice(0, 30) });
  await root.getByText("tidepool/docs#").waitFor();
  await root.getByRole("button", { name: /^\d repl/ }).click();
  await inThread(tab).last().getByText("Your pull request is ready").waitFor();
  return root;
}

describe("in the playground", { timeout: 1_200_000 }, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("a conflict with what was merged meanwhile is told, and Update it resolves it", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    const root = await linked(tab, "fix the typos in the quickstart");
    await linked(tab, "replace “choose one” with “pick another one” in the quickstart");
    await inThread(tab).last().getByText("Overlaps tidepool/docs#1 (docs/quickstart.md).").waitFor();
    await shootAll(tab, "conflict-1-overlap");
    const { page } = await openPullRequest(tab);
    await approveAndMerge(page);
    await root.getByText("⚠️ Conflicts with main").waitFor({ timeout: NEWS_MS });
    await root.getByRole("button", { name: /^\d repl/ }).click();
    const told = inThread(tab).filter({ hasText: "conflicts with main." });
    await told.getByRole("button", { name: "Update it" }).waitFor();
    await shootAll(tab, "conflict-2-told");
    await told.getByRole("button", { name: "Update it" }).click();
    await inThread(tab).getByText("The agent updated tidepool/docs#1").waitFor();
    await root.getByText("👀 Waiting for review").waitFor();
    await shootAll(tab, "conflict-3-updated");
    expect(await violationsOf(tab)).toEqual([]);
  });

  it("a review of three comments is answered, approved, merged and live", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    const root = await linked(tab, "fix the typos in the quickstart");
    const { page } = await openPullRequest(tab);
    await page.getByText("Comment on lines").click();
    const comments = [
      'Replace "receive" with "get".',
      "Is this so on Windows, too?",
      'Change "immediately" to "at once".',
    ];
    for (const [at, words] of comments.entries()) {
      const lines = page.getByRole("combobox", { name: `Line of comment ${at + 1}` });
      const line = lines.locator('option[value^="RIGHT:"]').nth(at);
      await lines.selectOption((await line.getAttribute("value")) ?? "");
      await page.getByRole("textbox", { name: `Comment ${at + 1}`, exact: true }).fill(words);
    }
    await page.getByRole("button", { name: "Request changes" }).click();
    const asked = inThread(tab).filter({ hasText: "priya asks for changes in tidepool/docs#1" });
    // Reviews within a minute are one post.
    await asked.getByRole("button", { name: "Make these changes" }).waitFor({ timeout: NEWS_MS });
    await shootAll(tab, "review-1-asked");
    await asked.getByRole("button", { name: "Make these changes" }).click();
    await inThread(tab).getByText("The agent updated tidepool/docs#1").waitFor();
    await root.getByText("👀 Waiting for review").waitFor();
    await shootAll(tab, "review-2-made");
    await page.reload();
    await page.getByText("Changed: receive → get.").waitFor();
    await page.getByText(/^Not changed: /).waitFor();
    expect(await page.getByText("Waiting", { exact: true }).count()).toBe(1);
    await shootAll(page, "review-3-page");
    await approveAndMerge(page);
    await root.getByText("🎉 Merged").waitFor();
    await root.getByText(/^Live: 127\.0\.0\.1:\d+\/docs\/quickstart/).waitFor({ timeout: NEWS_MS });
    await shootAll(tab, "review-4-live");
    for (const shown of [tab, page]) expect(await violationsOf(shown)).toEqual([]);
  });

  it("the same message again is joined from its form", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    const message = inChannel(tab).filter({ hasText: "The quickstart has typos" });
    const openForm = async () => {
      await message.hover();
      await message.getByRole("button", { name: "More actions" }).click();
      await tab.getByRole("menuitem", { name: /Fix these docs/ }).click();
      return tab.getByRole("dialog", { name: "Fix these docs" });
    };
    const first = await openForm();
    await first.getByRole("button", { name: "Send" }).click();
    await first.waitFor({ state: "detached" });
    await message.getByRole("button", { name: /repl/ }).click();
    await inThread(tab).getByText("Your pull request is ready").waitFor();
    await message.or(inThread(tab)).getByText("👀 Waiting for review").first().waitFor();
    const form = await openForm();
    await form.getByText("There's already a pull request for this").waitFor();
    await form.getByRole("textbox", { name: "What should change?" }).fill("fix the typos in the FAQ");
    await shootAll(tab, "again-1-form");
    await form.getByRole("button", { name: "Add to it" }).click();
    await form.getByText("Sent to the agent.").waitFor();
    await shootAll(tab, "again-2-sent");
    await form.getByRole("button", { name: "Close", exact: true }).click();
    await inThread(tab).getByText("The agent updated tidepool/docs#1").waitFor();
    await shootAll(tab, "again-3-joined");
    const { text } = await openPullRequest(tab);
    expect(text).toContain("faq.md");
  });

  it("a failed check is fixed by the agent", async () => {
    await using dir = await openTempDir();
    await using at = await openPlayground(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    const root = await linked(tab, "rename “Create a key” to “Make a key”");
    const told = inThread(tab).filter({ hasText: '"anchors" failed on tidepool/docs#1' });
    await told.getByRole("button", { name: "Let the agent fix it" }).waitFor({ timeout: NEWS_MS });
    await shootAll(tab, "check-1-failed");
    await told.getByRole("button", { name: "Let the agent fix it" }).click();
    await inThread(tab).getByText("The agent updated tidepool/docs#1").waitFor();
    await root.getByText("👀 Waiting for review").waitFor();
    expect(await root.innerText()).not.toContain("failed");
    await shootAll(tab, "check-2-fixed");
  });
});
