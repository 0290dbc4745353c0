import { request } from "node:http";
import type { Browser, Page } from "playwright-core";
import { createSlackSide, type SlackSide } from "../../../world/slack/index.ts";
import {
  createWeatherControls,
  createWorkspacePage,
  seedWorkspace,
  type WeatherCallbacks,
  type WorkspacePage,
  type WorkspacePageOptions,
} from "../../../playground/workspace/index.ts";
import { manifestScopes } from "../../support/manifest.ts";

/** Callbacks of a playground in which nothing but Slack is there. */
export function makeCallbacks(done: string[] = []): WeatherCallbacks {
  let isRunning = true;
  return {
    setJobServiceDown: (isDown) => void done.push(`down ${isDown}`),
    setJobServiceSlow: (isSlow) => void done.push(`slow ${isSlow}`),
    killApp: () => {
      isRunning = false;
      done.push("kill");
    },
    startApp: () => {
      isRunning = true;
      done.push("start");
    },
    appIsRunning: () => isRunning,
    setAgentMood: (mood) => void done.push(`agent ${mood}`),
  };
}

/** A seeded Slack and the page on it. */
export async function startWorkspace(
  options: Partial<WorkspacePageOptions> & { callbacks?: WeatherCallbacks } = {},
) {
  const slack =
    options.slack ??
    (await createSlackSide({
      scopes: manifestScopes(),
      signingSecret: "shhh",
      botToken: "xoxb-test",
      appUrl: "http://127.0.0.1:1/slack/events",
    }));
  const { people, channels } = seedWorkspace(slack);
  const page = await createWorkspacePage({
    weather: createWeatherControls(slack, options.callbacks ?? makeCallbacks()),
    ...options,
    slack,
  });
  const token = tokenIn(await (await fetch(page.url)).text());
  return {
    slack,
    page,
    people,
    channels,
    token,
    act: (act: object, as: string = people.mara) => post(page, "api/act", { as, act }, token),
    async [Symbol.asyncDispose]() {
      await page.close();
      await slack.close();
    },
  };
}

function tokenIn(html: string): string {
  return /name="page-token" content="([0-9a-f]+)"/.exec(html)?.[1] ?? "";
}

/** POSTs as the page does. */
export async function post(page: WorkspacePage, path: string, body: object, token: string) {
  const response = await fetch(new URL(path, page.url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      origin: new URL(page.url).origin,
      "x-page-token": token,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A request with exactly these headers; `fetch` would not send a foreign `Host`. */
export async function rawRequest(
  url: string,
  options: { method?: string; headers: Record<string, string>; body?: string },
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const sent = request(
    url,
    { method: options.method ?? "GET", headers: options.headers, agent: false },
    (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    },
  );
  sent.on("error", reject);
  sent.end(options.body);
  return promise;
}

/** Opens the page as a person, in a channel. What the page logs or throws fails the test through `faults`. */
export async function openPage(
  browser: Browser,
  page: WorkspacePage,
  at: { as: string; channel: string },
): Promise<{ tab: Page; faults: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.route(
    (url) => url.hostname !== "127.0.0.1",
    (route) => route.fulfill({ contentType: "text/html", body: "<title>elsewhere</title>" }),
  );
  await context.addInitScript(`sessionStorage.getItem("as") ?? sessionStorage.setItem("as", "${at.as}")`);
  const tab = await context.newPage();
  tab.setDefaultTimeout(10_000);
  const faults: string[] = [];
  tab.on("pageerror", (error) => faults.push(String(error)));
  tab.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  await tab.goto(`${page.url}#${at.channel}`);
  await tab.locator("html[data-ready]").waitFor();
  return { tab, faults };
}

export type Seeded = ReturnType<typeof seedWorkspace>;
export type { SlackSide };
