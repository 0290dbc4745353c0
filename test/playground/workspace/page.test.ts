// @module-tag all
// @module-tag chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createWeatherControls, createWorkspacePage } from "../../../playground/workspace/index.ts";
import { ANA, BEN, DOCS } from "../../support/world.ts";
import { startBrowser } from "../../support/browser.ts";
import { openPage } from "./setup.ts";
import { composer, inChannel, inFocus, inThread, openPageWithApp } from "./with-app.ts";

const PR = "https://github.com/acme/docs/pull/7";

describe("a person at the page, with the real app", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("attaches a file, which goes to the agent with the message that the form shows", async () => {
    await using at = await openPageWithApp(browser, {}, { level: 1 });
    const { world, tab, faults } = at;
    const picker = tab.locator("#conversation input[type=file]");
    const notes = { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("30 days") };
    await picker.setInputFiles({ ...notes, buffer: Buffer.alloc(200_000) });
    await tab.getByText("That file is too large for this page.").waitFor();
    await picker.setInputFiles(notes);
    await tab.getByRole("button", { name: "Remove notes.md" }).click();
    await picker.setInputFiles(notes);
    expect(await inFocus(tab, "tagName")).toBe("TEXTAREA");
    await tab.keyboard.press("Enter");
    const shared = inChannel(tab).filter({ hasText: "notes.md text/markdown" });
    await shared.waitFor();
    await shared.focus();
    await tab.keyboard.press("Shift+F10");
    await tab.getByRole("menuitem", { name: /^Fix these docs/ }).click();
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form.getByText("With files: notes.md").waitFor();
    await form.getByRole("button", { name: "Send" }).click();
    await form.waitFor({ state: "hidden" });
    await world.until(() => world.service.calls.some(({ attachments }) => attachments.length === 1));
    expect(world.service.calls.flatMap(({ attachments }) => attachments)).toEqual([
      { name: "notes.md", mediaType: "text/markdown", data: Buffer.from("30 days").toString("base64") },
    ]);
    expect(faults).toEqual([]);
  });

  it("adds the words of a form to the pull request that is open for a message", async () => {
    await using at = await openPageWithApp(browser, {}, { level: 1 });
    const { world, tab, faults } = at;
    const wrong = world.slack.workspace.say({ channel: DOCS, user: BEN, text: "npm instal is wrong" });
    const shortcut = { callbackId: "fix_these_docs", channel: DOCS, messageTs: wrong.ts };
    await world.slack.person(BEN).shortcut(shortcut);
    const first = await world.slack.until(() => world.slack.openViews(BEN)[0]);
    await world.slack.person(BEN).submit({ viewId: first.id });
    await world.until(() => world.service.creates.length === 1);
    world.service.finish("job_1", { status: "completed", prLink: PR });
    world.service.follow("job_1", {});
    await world.until(() => world.slack.messages(DOCS).length === 3);
    const message = inChannel(tab).filter({ hasText: "npm instal is wrong" });
    await message.hover();
    await message.getByRole("button", { name: "More actions" }).click();
    await tab.getByRole("menuitem", { name: /^Fix these docs/ }).click();
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form.getByRole("textbox", { name: "What should change?" }).fill("in the FAQ, too");
    await form.getByRole("button", { name: "Add to it" }).click();
    await form.getByText("Sent to the agent.").waitFor();
    await world.until(() => world.service.messages.length === 1);
    expect(world.service.messages[0]?.prompt).toMatch(/^in the FAQ, too\n/);
    expect(faults).toEqual([]);
  });

  it("asks with a command, and sees the message, its update, and the reply with the pull request", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab, faults } = at;
    world.service.script.completeAfterPolls(2, { prLink: PR });
    await composer(tab).fill("/doc");
    await tab.getByRole("option", { name: /\/docs-agent \[project=name\] what to change/ }).waitFor();
    await composer(tab).press("Tab");
    await tab
      .getByText("/docs-agent [project=name] what to change | list | status | help", { exact: true })
      .waitFor();
    await composer(tab).pressSequentially("fix the typos in the quickstart");
    await composer(tab).press("Enter");

    const root = inChannel(tab).filter({ hasText: "fix the typos in the quickstart" });
    await root.waitFor();
    await world.until(() => JSON.stringify(world.slack.messages(DOCS)).includes("agent is working"));
    await root.getByText("agent is working").waitFor();
    expect(await composer(tab).inputValue()).toBe("");
    // A mark on the node itself: an update in place keeps what stands around it, and no reload happens.
    await tab.evaluate("document.body.dataset.samePage = 'yes'");
    await world.until(() => world.replies(DOCS, world.slack.messages(DOCS)[0]?.ts ?? "").length > 0);
    await root.getByText("✅ acme/docs#7").waitFor();
    expect(await root.getByText("agent is working").count()).toBe(0);
    expect(await tab.evaluate("document.body.dataset.samePage")).toBe("yes");

    await root.getByRole("button", { name: /^1 reply/ }).click();
    const reply = inThread(tab).nth(1);
    await reply.getByText("Your pull request is ready").waitFor();
    const button = reply.getByRole("link", { name: /^View pull request/ });
    expect(await button.getAttribute("href")).toBe(PR);
    expect(await button.getAttribute("rel")).toContain("noopener");
    const delivered = tab.waitForResponse((response) => response.url().endsWith("/api/act"));
    const [popup] = await Promise.all([tab.context().waitForEvent("page"), button.click()]);
    expect(popup.url()).toBe(PR);
    expect(await (await delivered).json()).toEqual({});
    expect(faults).toEqual([]);
  });

  it(
    "goes on in the thread: by a mention, and by a reply that they say is for the agent",
    { tags: "nightly" },
    async () => {
      await using at = await openPageWithApp(browser, { FOLLOW_UPS: "ask" });
      const { world, tab, faults } = at;
      await world.slack.person(ANA).command({ channel: DOCS, text: "fix the quickstart" });
      await world.until(() => world.service.creates.length === 1);
      world.service.finish("job_1", { status: "completed", prLink: PR });
      await world.until(() => world.slack.messages(DOCS).length === 2);
      const root = inChannel(tab).filter({ hasText: "fix the quickstart" });
      await root.getByRole("button", { name: /^1 reply/ }).click();
      const reply = tab.getByRole("textbox", { name: "Reply in thread" });
      await reply.fill("@docs-agent and the FAQ");
      await reply.press("Enter");
      await world.slack.until(() => world.slack.messages(DOCS).length === 3);
      // What the page sends is on its way: nothing may be due yet.
      const sent = (count: number) =>
        world
          .until(() => world.service.messages.length === count)
          .then(
            () => true,
            () => false,
          );
      await expect.poll(() => sent(1), { timeout: 20_000 }).toBe(true);
      await world.until(() => JSON.stringify(world.slack.messages(DOCS)).includes("Follow-up sent"));
      await inThread(tab).getByText("Follow-up sent to the agent.").waitFor();

      await reply.fill("and the glossary");
      await reply.press("Enter");
      const question = inThread(tab).filter({ hasText: "Is this for the agent?" });
      await question.waitFor();
      await question.getByRole("button", { name: "Send it" }).click();
      await question.waitFor({ state: "detached" });
      await expect.poll(() => sent(2), { timeout: 20_000 }).toBe(true);
      expect(world.service.messages.map(({ prompt }) => prompt)).toEqual(["and the FAQ", "and the glossary"]);
      world.service.finish("job_1", { status: "failed" });
      await world.until(() => JSON.stringify(world.slack.messages(DOCS)).includes("couldn't finish"));
      await inThread(tab).getByText("The agent couldn't finish.").first().waitFor();
      expect(faults).toEqual([]);
    },
  );

  it("chooses the shortcut, gets the form, and sends it", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab, faults } = at;
    world.slack.workspace.say({
      channel: DOCS,
      user: BEN,
      text: "The install page has a `broken` link & more",
    });
    const message = inChannel(tab).filter({ hasText: "The install page has" });
    await message.hover();
    await message.getByRole("button", { name: "More actions" }).click();
    await tab.getByRole("menuitem", { name: /Fix these docs/ }).click();
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form.getByRole("blockquote").getByText("The install page has").waitFor();
    const field = form.getByRole("textbox", { name: "What should change?" });
    expect(await field.getAttribute("placeholder")).toBe("Fix the problem this message describes.");
    await field.fill("Mend the link");
    await form.getByRole("button", { name: "Send" }).click();
    await form.waitFor({ state: "detached" });
    await message.getByRole("button", { name: /^1 reply/ }).click();
    await world.until(() => JSON.stringify(world.slack.messages(DOCS)).includes("agent is working"));
    await inThread(tab).filter({ hasText: "Mend the link" }).getByText("agent is working").waitFor();
    expect(world.service.creates[0]?.prompt).toContain("The install page has a `broken` link & more");
    expect(faults).toEqual([]);
  });

  it("sees what is missing, and an error that the app puts under a field, and keeps what was typed", async () => {
    await using at = await openPageWithApp(browser);
    const { tab } = at;
    await composer(tab).fill("/docs-agent");
    await composer(tab).press("Enter");
    const form = tab.getByRole("dialog", { name: "Request a docs change" });
    const field = form.getByRole("textbox", { name: "What should change?" });
    await form.getByRole("button", { name: "Send" }).click();
    await form.getByRole("alert").getByText("Please complete this required field.").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    await field.fill("   ");
    await form.getByRole("button", { name: "Send" }).click();
    await form.locator(".field-error:not([hidden])").waitFor();
    expect(await field.inputValue()).toBe("   ");
    await field.press("Escape");
    await form.waitFor({ state: "detached" });
    expect(at.world.slack.openViews(ANA)).toEqual([]);
  });

  it("gets an answer that only they see, and dismisses it", { tags: "nightly" }, async () => {
    await using at = await openPageWithApp(browser);
    const { tab, world, site } = at;
    await composer(tab).fill("/docs-agent help");
    await composer(tab).press("Enter");
    const private_ = inChannel(tab).filter({ hasText: "Only visible to you" });
    await private_.getByText("Ask for a docs change").waitFor();
    const bens = await openPage(browser, site, { as: BEN, channel: DOCS });
    world.slack.workspace.say({ channel: DOCS, user: BEN, text: "anybody?" });
    await inChannel(bens.tab).filter({ hasText: "anybody?" }).waitFor();
    expect(await bens.tab.getByText("Only visible to you").count()).toBe(0);
    await bens.tab.context().close();
    await private_.getByRole("button", { name: /Dismiss/ }).click();
    await private_.waitFor({ state: "detached" });
  });

  it("connects again when the page's server was away", { tags: "nightly" }, async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab, site } = at;
    const port = Number(new URL(site.url).port);
    await site.close();
    await tab.getByText("The playground does not answer. Trying again…").waitFor();
    world.slack.workspace.say({ channel: DOCS, user: BEN, text: "said while away" });
    await using _again = await createWorkspacePage({
      slack: world.slack,
      port,
      weather: createWeatherControls(world.slack, {
        setJobServiceDown: () => {},
        setJobServiceSlow: () => {},
        killApp: () => {},
        startApp: () => {},
        appIsRunning: () => true,
      }),
    });
    await inChannel(tab).filter({ hasText: "said while away" }).waitFor();
    await composer(tab).fill("back again");
    await composer(tab).press("Enter");
    await inChannel(tab).filter({ hasText: "back again" }).waitFor();
    expect(world.slack.messages(DOCS).map(world.slack.visibleText)).toEqual([
      "said while away",
      "back again",
    ]);
  });
});
