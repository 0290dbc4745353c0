// @module-tag chromium
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createWeatherControls, createWorkspacePage } from "../../../playground/workspace/index.ts";
import { ANA, BEN, DOCS, RANDOM, World } from "../../support/world.ts";
import { startBrowser } from "../../support/browser.ts";
import { openPage } from "./setup.ts";

const PR = "https://github.com/acme/docs/pull/7";

/** The real app, and the page opened by Ana in #docs. */
async function start(
  browser: Browser,
  env: Record<string, string> = {},
  jobService: NonNullable<Parameters<typeof World.start>[0]>["jobService"] = {},
) {
  const stack = new AsyncDisposableStack();
  const world = stack.use(await World.start({ env, jobService }));
  let isRunning = true;
  const weather = createWeatherControls(world.slack, {
    setJobServiceDown: (isDown) => (isDown ? world.service.down() : world.service.up()),
    setJobServiceSlow: () => {},
    killApp: async () => {
      isRunning = false;
      await world.stopApp();
    },
    startApp: async () => {
      await world.startApp();
      isRunning = true;
    },
    appIsRunning: () => isRunning,
  });
  const site = stack.use(await createWorkspacePage({ slack: world.slack, weather }));
  const { tab, faults } = await openPage(browser, site, { as: ANA, channel: DOCS });
  stack.defer(() => tab.context().close());
  return { world, tab, faults, site, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const composer = (tab: Page) => tab.getByRole("textbox", { name: /^Message / });
/** What of the element in focus a test wants to know. */
const inFocus = (tab: Page, what: string) => tab.evaluate<string | null>(`document.activeElement?.${what}`);
const inChannel = (tab: Page) => tab.getByRole("main").getByRole("article");
const inThread = (tab: Page) => tab.getByRole("complementary", { name: "Thread" }).getByRole("article");

describe("a person at the page, with the real app", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("attaches a file, which goes to the agent with the message that the form shows", async () => {
    await using at = await start(browser, {}, { attachments: true });
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

  it("asks with a command, and sees the message, its update, and the reply with the pull request", async () => {
    await using at = await start(browser);
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

  it("goes on in the thread: by a mention, and by a reply that they say is for the agent", async () => {
    await using at = await start(browser, { FOLLOW_UPS: "ask" });
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
  });

  it("chooses the shortcut, gets the form, and sends it", async () => {
    await using at = await start(browser);
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
    await using at = await start(browser);
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

  it("gets an answer that only they see, and dismisses it", async () => {
    await using at = await start(browser);
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

  it("does it all by keyboard", async () => {
    await using at = await start(browser);
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
    await using at = await start(browser);
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
    await using at = await start(browser);
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
    await using at = await start(browser);
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
    await using at = await start(browser);
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

  it("connects again when the page's server was away", async () => {
    await using at = await start(browser);
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

  it("fits windows from 380 pixels on, with the conversations behind a button", async () => {
    await using at = await start(browser);
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
