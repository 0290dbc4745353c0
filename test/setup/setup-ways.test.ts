// @module-tag all
// @module-tag chromium
import { once } from "node:events";
import { get } from "node:http";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser, violationsOf } from "../support/browser.ts";
import { APP_PERMISSIONS } from "../support/github-app.ts";
import { need } from "../support/need.ts";
import { CONFIG_TOKEN, openSetupPlace } from "../support/setup-place.ts";
import { BOT_TOKEN } from "../support/world.ts";

describe("other ways through npm run setup", { timeout: 300_000 }, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startBrowser()));
  afterAll(() => browser.close());

  it("creates the Slack app over HTTP and a GitHub App, in the dark and with the keyboard alone", async () => {
    need("bubblewrap");
    await using place = await openSetupPlace();
    const { codeHost, slack } = place;
    const context = await browser.newContext({ colorScheme: "dark" });
    const tab = await context.newPage();
    await tab.goto(await place.start().page());
    const goOn = (name: string) => tab.getByRole("button", { name }).press("Enter");
    await tab.getByLabel("How Slack reaches the app").selectOption("http");
    await tab.getByLabel("Public host, for HTTP").fill("https://docs.example.com/slack");
    await goOn("Continue");
    await tab.getByText("Enter the host's name alone").waitFor();
    // What was entered is still there. A secret isn't.
    expect(await tab.getByLabel("How Slack reaches the app").inputValue()).toBe("http");
    expect(await tab.getByLabel("Public host, for HTTP").inputValue()).toBe("https://docs.example.com/slack");
    await tab.getByLabel("Public host, for HTTP").fill("docs.example.com");
    await tab.getByLabel("App Configuration Token").fill(CONFIG_TOKEN);
    await goOn("Continue");
    await tab.getByRole("heading", { name: "Slack tokens", level: 2 }).waitFor();
    const [made] = slack.manifests.all().values();
    expect(made).toMatchObject({
      settings: {
        socket_mode_enabled: false,
        interactivity: { request_url: "https://docs.example.com/slack/events" },
      },
    });
    // Slack's answer had the signing secret.
    await tab.getByText("One is kept. Leave this empty to use it.").waitFor();
    await tab.getByLabel("Bot User OAuth Token").fill(BOT_TOKEN);
    await goOn("Try the tokens");
    await tab.getByRole("heading", { name: "Docs repository", level: 2 }).waitFor();

    await tab.getByText("Or make a GitHub App").press("Enter");
    await tab.getByLabel("Organization").fill("acme");
    await goOn("Make a GitHub App");
    const form = await tab.getByRole("link", { name: /^http:\/\/127\.0\.0\.1/ }).getAttribute("href");
    const atHost = await context.newPage();
    await atHost.goto(form ?? "");
    await atHost.getByRole("button", { name: "Create it at GitHub" }).click();
    await atHost.getByText("The App is created. Go back to where you began.").waitFor();
    await tab.getByRole("link", { name: /\/installations\/new$/ }).waitFor();
    expect(await violationsOf(tab)).toEqual([]);
    const [app] = codeHost.apps.all.values();
    app?.installations.push({
      id: 77,
      account: "acme",
      repositories: ["docs"],
      permissions: APP_PERMISSIONS,
    });
    await tab.getByText(/The App \d+ is installed/).waitFor();
    await tab.reload();
    await tab.getByRole("textbox", { name: "Repository" }).fill(place.repository);
    await goOn("Look at the repository");
    await tab.getByRole("heading", { name: "Agent and model", level: 2 }).waitFor({ timeout: 60_000 });
    expect(await violationsOf(tab)).toEqual([]);
    await context.close();
  });

  it("keeps what is chosen in one window while another one tries the step", async () => {
    await using place = await openSetupPlace();
    const page = await place.start().page();
    const [choosing, trying] = [await browser.newPage(), await browser.newPage()];
    await choosing.goto(page);
    await trying.goto(page);
    await choosing.getByLabel("How Slack reaches the app").selectOption("http");
    await trying.getByLabel("App Configuration Token").fill("xoxe.xoxp-wrong");
    const looked = choosing.waitForResponse(
      async (answer) => answer.url().endsWith("/changes") && !(await answer.text()).startsWith("0 "),
    );
    await trying.getByRole("button", { name: "Continue" }).click();
    await trying.getByRole("listitem").filter({ hasText: "Slack app, Fault" }).waitFor();
    await looked;
    // The next look begins once the one before has done its part.
    await choosing.waitForResponse((answer) => answer.url().endsWith("/changes"));
    expect(await choosing.getByLabel("How Slack reaches the app").inputValue()).toBe("http");
    await choosing.close();
    await trying.close();
  });

  it("answers nobody but the page itself", async () => {
    await using place = await openSetupPlace();
    const page = await place.start().page();
    const { origin } = new URL(page);
    expect((await fetch(page)).status).toBe(200);
    expect((await fetch(`${origin}/`)).status).toBe(404);
    expect((await fetch(`${origin}/guess/`)).status).toBe(403);
    const [elsewhere] = await once(get(page, { headers: { host: "evil.example" } }), "response");
    expect(elsewhere).toMatchObject({ statusCode: 403 });
    for (const headers of [{}, { origin: "https://evil.example" }]) {
      const body = new URLSearchParams({ reach: "socket" });
      const sent = await fetch(`${page}step/slack`, { method: "POST", headers, body, redirect: "manual" });
      expect(sent.status).toBe(403);
    }
    expect(place.written()).toEqual([]);
  });
});
