import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPlayground } from "../../playground/playground.ts";
import { openStateFolder } from "../../playground/state-folder.ts";
import { hasChromium, startBrowser } from "../support/browser.ts";
import { openTempDir } from "../support/temp-dir.ts";

/** Real programs, a real agent process and real git: all of it takes seconds, on a busy machine more. */
const PATIENCE_MS = 60_000;

/** The whole playground, as `npm run playground` starts it, and its page open in a browser. */
async function start(browser: Browser, dir: string) {
  const stack = new AsyncDisposableStack();
  const playground = stack.use(
    await startPlayground({
      state: openStateFolder(dir, false),
      port: 0,
      agent: null,
      env: { PATH: process.env["PATH"] ?? "" },
      agentEnv: {},
    }),
  );
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  stack.defer(() => context.close());
  const tab = await context.newPage();
  tab.setDefaultTimeout(PATIENCE_MS);
  await tab.goto(playground.url);
  await tab.locator("html[data-ready]").waitFor();
  return { playground, tab, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const inChannel = (tab: Page) => tab.getByRole("main").getByRole("article");
const inThread = (tab: Page) => tab.getByRole("complementary", { name: "Thread" }).getByRole("article");

async function openChannel(tab: Page, name: string): Promise<void> {
  await tab
    .getByRole("navigation")
    .getByRole("link", { name: new RegExp(name) })
    .or(tab.getByRole("navigation").getByRole("button", { name: new RegExp(name) }))
    .first()
    .click();
}

async function ask(tab: Page, text: string): Promise<void> {
  const composer = tab.getByRole("textbox", { name: /^Message / });
  await composer.fill(`/docs-agent ${text}`);
  await composer.press("Enter");
}

/** Opens the pull request that the last reply of the open thread links to, and returns what its page says. */
async function openPullRequest(tab: Page): Promise<{ page: Page; text: string }> {
  const link = inThread(tab)
    .last()
    .getByRole("link", { name: /^View pull request/ });
  await link.waitFor();
  const [page] = await Promise.all([tab.context().waitForEvent("page"), link.click()]);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return { page, text: await page.locator("body").innerText() };
}

describe.skipIf(!hasChromium)("the playground", { timeout: 180_000 }, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("turns a command into a pull request with the right diff, which a reply goes on with, and which can be merged", async () => {
    await using dir = await openTempDir();
    await using at = await start(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    await ask(tab, "fix the typos in the quickstart");
    const root = inChannel(tab).filter({ hasText: "fix the typos in the quickstart" });
    await root.getByText("✅ tidepool/docs#").waitFor();
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
    await page.getByRole("button", { name: /Merge/ }).click();
    await page
      .getByText(/^Merged/)
      .first()
      .waitFor();
  });

  it("answers the agent's questions, by a button and by a form, with the keyboard alone", async () => {
    await using dir = await openTempDir();
    await using at = await start(browser, dir.file("playground"));
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

    const second = inThread(tab).filter({ hasText: "Its name will do." });
    await second.getByRole("button", { name: "Answer…" }).press("Enter");
    const form = tab.getByRole("dialog", { name: "Answer the agent" });
    await form.getByText("Which page, then?").waitFor();
    await tab.keyboard.type("FAQ");
    await form.getByRole("button", { name: "Send" }).press("Enter");
    await second.getByText("answered: FAQ").waitFor();
    await inThread(tab).last().getByText("Your pull request is ready").waitFor();
    const { text } = await openPullRequest(tab);
    expect(text).toContain("faq.md");
    expect(text).not.toContain("install.md");
  });

  it("fixes what a message shows, by its shortcut", async () => {
    await using dir = await openTempDir();
    await using at = await start(browser, dir.file("playground"));
    const { tab } = at;
    await openChannel(tab, "docs");
    const message = inChannel(tab).filter({ hasText: "The link to the API reference" });
    await message.hover();
    await message.getByRole("button", { name: "More actions" }).click();
    await tab.getByRole("menuitem", { name: /Fix these docs/ }).click();
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form
      .getByRole("textbox", { name: "What should change?" })
      .fill("fix the broken link in the quickstart");
    await form.getByRole("button", { name: "Send" }).click();
    await message.getByRole("button", { name: /repl/ }).click();
    await inThread(tab).last().getByText("Your pull request is ready").waitFor();
    const { text } = await openPullRequest(tab);
    expect(text).toContain("api/reference.md");
    expect(text).toContain("quickstart.md");
  });

  it("loses nothing in bad weather: the job service down, then up; the app killed, then started", async () => {
    await using dir = await openTempDir();
    await using at = await start(browser, dir.file("playground"));
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
    await root.getByText("✅ tidepool/docs#").waitFor();
    await root.getByRole("button", { name: /^1 reply/ }).click();
    await openPullRequest(tab);
    expect(await inThread(tab).filter({ hasText: "tidepool/docs#" }).count()).toBe(2);
  });

  it("has everything still there after it was stopped and started again", async () => {
    await using dir = await openTempDir();
    {
      await using at = await start(browser, dir.file("playground"));
      await openChannel(at.tab, "docs");
      await ask(at.tab, "fix the typos in the quickstart");
      await inChannel(at.tab).getByText("✅ tidepool/docs#").first().waitFor();
    }
    await using again = await start(browser, dir.file("playground"));
    await openChannel(again.tab, "docs");
    await inChannel(again.tab).getByText("✅ tidepool/docs#").first().waitFor();
    const pulls = await fetch(`${again.playground.codeHostUrl}/api/v3/repos/tidepool/docs/pulls?state=all`);
    expect(await pulls.json()).toHaveLength(1);
  });
});
