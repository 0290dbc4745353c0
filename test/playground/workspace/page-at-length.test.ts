// @module-tag all
// @module-tag nightly
// @module-tag chromium
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ANA, BEN, DOCS, RANDOM } from "../../support/world.ts";
import { startBrowser } from "../../support/browser.ts";
import { composer, inChannel, inFocus, inThread, openPageWithApp } from "./with-app.ts";

const PR = "https://github.com/acme/docs/pull/7";

describe("a person at the page, with the real app", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("does it all by keyboard", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab } = at;
    const { keyboard } = tab;
    world.slack.workspace.say({ channel: DOCS, user: BEN, text: "first" });
    world.slack.workspace.say({ channel: DOCS, user: BEN, text: "The FAQ is wrong" });
    await inChannel(tab).filter({ hasText: "The FAQ is wrong" }).waitFor();
    const focused = () => inFocus(tab, "textContent");
    const press = async (...keys: string[]) => {
      for (const key of keys) await keyboard.press(key);
    };
    await inChannel(tab).last().focus();
    await press("ArrowUp");
    expect(await focused()).toContain("first");
    await press("End", "Tab", "Tab");
    expect(await inFocus(tab, "ariaLabel")).toBe("More actions");
    await press("Enter");
    expect(await focused()).toContain("Fix these docs");
    await press("Escape");
    expect(await inFocus(tab, "ariaLabel")).toBe("More actions");
    await press("Enter", "Enter");
    const form = tab.getByRole("dialog", { name: "Fix these docs" });
    await form.waitFor();
    expect(await inFocus(tab, "tagName")).toBe("TEXTAREA");
    await press("Control+a");
    await keyboard.type("Right the FAQ");
    await press("Tab", "Tab");
    expect(await focused()).toBe("Send");
    await press("Enter");
    await form.waitFor({ state: "detached" });
    await inChannel(tab)
      .last()
      .getByRole("button", { name: /1 reply/ })
      .waitFor();

    await inChannel(tab).last().focus();
    await press("Enter");
    await inThread(tab).filter({ hasText: "Right the FAQ" }).waitFor();
    expect(await inFocus(tab, "ariaLabel")).toBe("Reply in thread");
    await keyboard.type("@docs");
    await press("Tab");
    await keyboard.type("also the glossary");
    await press("Enter");
    await inThread(tab).filter({ hasText: "also the glossary" }).first().waitFor();
    await world.until(() => JSON.stringify(world.slack.messages(DOCS)).includes("followed up:"));
    await inThread(tab).nth(1).getByText("followed up:").waitFor();
    await expect.poll(() => tab.locator("#announcer").textContent()).toMatch(/docs-agent/);
    await press("Escape");
    await tab.getByRole("complementary", { name: "Thread" }).waitFor({ state: "hidden" });
    expect(await focused()).toContain("The FAQ is wrong");
  });

  it("makes the weather, and nothing gets lost: the job service away, then the app killed and started", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab } = at;
    world.service.script.completeAfterPolls(1, { prLink: PR });
    await tab.getByRole("button", { name: "Weather: clear" }).click();
    const panel = tab.getByRole("complementary", { name: "Weather" });
    await panel.getByRole("switch", { name: "Job service is down" }).check();
    await tab.getByRole("button", { name: "Weather: Job service down" }).waitFor();
    await composer(tab).fill("/docs-agent fix it in the rain");
    await composer(tab).press("Enter");
    const root = inChannel(tab).filter({ hasText: "fix it in the rain" });
    await root.waitFor();
    await world.until(() =>
      JSON.stringify(world.slack.messages(DOCS)[0]?.blocks).includes("agent is unavailable"),
    );
    await root.getByText(/agent is unavailable/).waitFor();
    await panel.getByRole("switch", { name: "The app is killed" }).check();
    await tab.getByRole("button", { name: "Weather: Job service down · App not running" }).waitFor();
    await composer(tab).fill("/docs-agent and this");
    await composer(tab).press("Enter");
    await inChannel(tab).getByText('/docs-agent failed with the error "dispatch_failed"').waitFor();
    await panel.getByRole("switch", { name: "The app is killed" }).uncheck();
    await panel.getByRole("switch", { name: "Job service is down" }).uncheck();
    await tab.getByRole("button", { name: "Weather: clear" }).waitFor();
    await world.until(() => world.replies(DOCS, world.slack.messages(DOCS)[0]?.ts ?? "").length > 0);
    await root.getByText("✅ acme/docs#7").waitFor();
    expect(world.service.creates).toHaveLength(1);
  });

  it("becomes somebody else, goes where there is something new, and finds the direct message", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab, faults } = at;
    const entry = tab.getByRole("navigation", { name: "Conversations" });
    world.slack.workspace.say({
      channel: RANDOM,
      user: ANA,
      text: `<@${BEN}> the README says start, not serve`,
    });
    await tab.getByLabel("I am").selectOption({ label: "Ben Okoro" });
    await entry.getByRole("button", { name: "random 1 unread for you" }).click();
    const message = inChannel(tab).filter({ hasText: "the README says" });
    await entry.getByRole("button", { name: "random", exact: true }).waitFor();
    await message.hover();
    await message.getByRole("button", { name: "More actions" }).click();
    await tab.getByRole("menuitem", { name: /Fix these docs/ }).click();
    await tab.getByRole("dialog").getByRole("button", { name: "Send" }).click();
    // The bot is not in #random: it says so privately and reports in a direct message.
    await inChannel(tab).getByText("I'm not in this channel").waitFor();
    await entry.getByRole("button", { name: /docs-agent \d unread for you/ }).click();
    await world.until(() => JSON.stringify(world.slack.dm(BEN)).includes("agent is working"));
    await inChannel(tab).first().getByText("agent is working").waitFor();
    await composer(tab).fill("fix the glossary");
    await composer(tab).press("Enter");
    await world.until(() => world.service.creates.length === 2);
    expect(faults).toEqual([]);
  });

  it("turns the pages of their requests, opens a thread from there, and begins with a suggestion", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab, faults } = at;
    const asked = Array.from({ length: 11 }, (_, n) => `request number ${n + 1}`);
    for (const text of asked) await world.slack.person(ANA).command({ channel: DOCS, text });
    await world.pass(20_000);
    await composer(tab).fill("/docs-agent list");
    await composer(tab).press("Enter");
    await world.until(() => world.slack.ephemerals(ANA).length > 0);
    const list = inChannel(tab).last();
    await list.getByRole("link", { name: "request number 11", exact: true }).waitFor();
    await list.getByRole("button", { name: "Older", exact: true }).click();
    await world.until(() => JSON.stringify(world.slack.ephemerals(ANA)).includes("page 2"));
    await list.getByRole("link", { name: "request number 1", exact: true }).click();
    await inThread(tab).first().getByText("request number 1", { exact: true }).waitFor();

    await tab.getByLabel("I am").selectOption({ label: "Ben Okoro" });
    await tab.getByRole("navigation").getByRole("button", { name: "docs-agent" }).click();
    await world.until(() => world.slack.dm(BEN).length === 1);
    await tab.getByRole("button", { name: "Fix the broken links in the docs" }).click();
    await world.until(() => world.service.creates.length === 12 && world.slack.dm(BEN).length === 2);
    await inChannel(tab).getByText("Fix the broken links in the docs", { exact: true }).nth(1).waitFor();
    expect(faults).toEqual([]);
  });

  it("sees how it stands under the message that asked; a guest is refused", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab, faults } = at;
    const guest = world.slack.workspace.addUser({
      name: "kim",
      realName: "Kim Sato",
      guest: "multi-channel",
    });
    world.slack.workspace.invite(DOCS, guest.id);
    await composer(tab).fill("@docs-agent fix the glossary");
    await composer(tab).press("Enter");
    const asked = inChannel(tab).filter({ hasText: "fix the glossary" });
    const reaction = asked.getByRole("list", { name: "Reactions" }).getByRole("listitem");
    await world.slack.until(() => JSON.stringify(world.slack.messages(DOCS)).includes("eyes"));
    await reaction.filter({ hasText: "👀 1" }).waitFor();
    expect(await reaction.getAttribute("title")).toBe("docs-agent reacted with :eyes:");
    await world.until(() => world.service.creates.length === 1);
    world.service.finish("job_1", { status: "completed", prLink: PR });
    await world.until(() => JSON.stringify(world.slack.messages(DOCS)).includes("white_check_mark"));
    await world.until(() => !JSON.stringify(world.slack.messages(DOCS)).includes("eyes"));
    await reaction.filter({ hasText: "✅ 1" }).waitFor();

    await tab.getByLabel("I am").selectOption({ label: "Kim Sato (guest)" });
    const conversations = tab.getByRole("navigation", { name: "Conversations" });
    await conversations.getByRole("button", { name: "random" }).waitFor({ state: "detached" });
    await composer(tab).fill("/docs-agent fix the FAQ");
    await composer(tab).press("Enter");
    await inChannel(tab).getByText("Sorry, only members of this workspace can use Docs Agent.").waitFor();
    expect(world.service.creates).toHaveLength(1);
    expect(faults).toEqual([]);
  });

  it("fits windows from 380 pixels on, with the conversations behind a button", async () => {
    await using at = await openPageWithApp(browser);
    const { world, tab } = at;
    world.slack.workspace.say({
      channel: DOCS,
      user: BEN,
      text: `long ${"x".repeat(300)} https://x.test/${"y".repeat(200)}`,
    });
    await tab.setViewportSize({ width: 380, height: 700 });
    const entry = tab
      .getByRole("navigation", { name: "Conversations" })
      .getByRole("button", { name: /random/ });
    expect(await entry.isVisible()).toBe(false);
    await tab.getByRole("button", { name: "Weather: clear" }).click();
    for (const bad of ["Job service is down", "Job service is slow", "The app is killed"]) {
      await tab.getByRole("switch", { name: bad }).check();
    }
    await tab.getByRole("button", { name: /^Weather: Job service down · .* · App not running$/ }).waitFor();
    for (const width of [380, 721, 800, 1001]) {
      await tab.setViewportSize({ width, height: 700 });
      expect(await tab.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
    await tab.setViewportSize({ width: 380, height: 700 });
    await tab.getByRole("button", { name: "Close this pane" }).click();
    expect(await tab.evaluate("document.documentElement.scrollWidth")).toBe(380);
    await tab.getByRole("button", { name: "Conversations" }).click();
    await entry.click();
    await tab.getByRole("heading", { name: "#random" }).waitFor();
    expect(await entry.isVisible()).toBe(false);
  });
});
