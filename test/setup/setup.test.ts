// @module-tag chromium
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownManifest } from "../../src/app/slack/manifest/own-manifest.ts";
import { startBrowser, violationsOf } from "../support/browser.ts";
import { need } from "../support/need.ts";
import { choose as chooseIn, enter as enterIn, heading, press } from "../support/setup-page.ts";
import { CONFIG_TOKEN, openSetupPlace, SETUP_KEY, SETUP_TOKEN } from "../support/setup-place.ts";
import { ANA, APP_TOKEN, BOT_TOKEN, DOCS } from "../support/world.ts";

const SECRETS = [BOT_TOKEN, APP_TOKEN, SETUP_TOKEN, SETUP_KEY, CONFIG_TOKEN];

describe("npm run setup", { timeout: 300_000 }, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("leads from a clean folder to a pull request, and shows no secret", async () => {
    need("bubblewrap");
    await using place = await openSetupPlace();
    const { slack, folder } = place;
    writeFileSync(join(folder, ".env"), "HELP_CONTACT=the docs team\n");
    const tab = await browser.newPage({ viewport: { width: 390, height: 800 } });
    const shown: string[] = [];
    const look = async () => {
      shown.push(await tab.content());
      for (const colorScheme of ["dark", "light"] as const) {
        await tab.emulateMedia({ colorScheme });
        expect([colorScheme, await violationsOf(tab)]).toEqual([colorScheme, []]);
      }
      const wide = await tab.evaluate("document.documentElement.scrollWidth");
      expect(wide).toBeLessThanOrEqual(390);
    };
    const first = place.start();
    await tab.goto(await first.page());
    let fields = 0;
    const enter = async (label: string, value: string) => {
      fields += 1;
      await enterIn(tab, label, value);
    };
    const choose = async (label: string, value: string) => {
      fields += 1;
      await chooseIn(tab, label, value);
    };

    await heading(tab, "Slack app");
    await look();
    await choose("How Slack reaches the app", "socket");
    await press(tab, "Continue");
    await heading(tab, "Slack tokens");
    const link = await tab.getByRole("link", { name: "Create the Slack app" }).getAttribute("href");
    expect(JSON.parse(new URL(link ?? "").searchParams.get("manifest_json") ?? "")).toMatchObject({
      display_information: { name: "Docs Agent" },
      settings: { socket_mode_enabled: true },
    });
    await tab.locator("summary").filter({ hasText: "The manifest" }).click();
    const pasted = await tab.getByLabel("The manifest, to paste").inputValue();
    expect(JSON.parse(pasted)).toEqual(await ownManifest({ kind: "socket" }));
    await tab.getByLabel("Bot User OAuth Token").fill("xoxb-wrong");
    await tab.getByLabel("App-level token").fill(APP_TOKEN);
    await press(tab, "Try the tokens");
    await tab.getByText("Slack refuses SLACK_BOT_TOKEN (invalid_auth).").waitFor();
    await look();
    await enter("Bot User OAuth Token", BOT_TOKEN);
    await enter("App-level token", APP_TOKEN);
    await press(tab, "Try the tokens");
    await heading(tab, "Docs repository");

    // It can be left, and taken up again where it was.
    await first.stop();
    const second = place.start();
    await tab.goto(await second.page());
    await heading(tab, "Docs repository");
    await enter("Repository", place.repository);
    await enter("GitHub token", SETUP_TOKEN);
    await press(tab, "Look at the repository");
    await heading(tab, "Agent and model");
    await tab.getByText("Docs repository: all is well").click();
    await tab.getByText(/docs covers \d of \d pages?, made with Mintlify/).waitFor();
    await look();
    await choose("Agent", "opencode");
    await tab.getByLabel("Model key").fill("sk-ant-wrong-0123456789");
    await press(tab, "Try the agent and the model");
    await tab.getByText("anthropic answered 401").waitFor({ timeout: 60_000 });
    await look();
    await enter("Model key", SETUP_KEY);
    await press(tab, "Try the agent and the model");
    await heading(tab, "Check and start");
    await look();
    await press(tab, "Write, check and start");
    await heading(tab, "Ask for something in Slack");
    await look();
    expect(fields).toBeLessThanOrEqual(8);

    const outcome = await slack.person(ANA).command({ channel: DOCS, text: "fix the typo in the README" });
    expect(outcome).toMatchObject({ status: 200 });
    await tab.getByText("The first request is a pull request").waitFor({ timeout: 60_000 });
    await look();
    await slack.until(
      () => slack.messages(DOCS).some((message) => slack.visibleText(message).includes("acme/docs#1")),
      60_000,
    );
    await second.stop();

    const files = place.written();
    const key =
      /DOCS_AGENT_API_KEY=(\S+)/.exec(files.find(({ name }) => name === ".env")?.text ?? "")?.[1] ?? "?";
    expect(files.map(({ name }) => name.replace(/\d{14}/, "<time>")).toSorted()).toEqual([
      ".docs-agent-setup.json",
      ".env",
      ".env.bak-<time>",
      "app.log",
      "service.log",
      "service.yml",
    ]);
    for (const { name, mode, text } of files) {
      expect([name, mode]).toEqual([name, 0o600]);
      if (name.startsWith(".env")) continue;
      for (const secret of [...SECRETS, key]) expect(text).not.toContain(secret);
    }
    const told = [...shown, first.stdout, first.stderr, second.stdout, second.stderr].join("\n");
    for (const secret of [...SECRETS, key]) expect(told).not.toContain(secret);
  });
});
