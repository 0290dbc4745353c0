import type { Browser, Page } from "playwright-core";
import { createWeatherControls, createWorkspacePage } from "../../../playground/workspace/index.ts";
import { ANA, DOCS, World } from "../../support/world.ts";
import { openPage } from "./setup.ts";

/** The real app, and the page opened by Ana in #docs. */
export async function openPageWithApp(
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

export const composer = (tab: Page) => tab.getByRole("textbox", { name: /^Message / });
/** What of the element in focus a test wants to know. */
export const inFocus = (tab: Page, what: string) =>
  tab.evaluate<string | null>(`document.activeElement?.${what}`);
export const inChannel = (tab: Page) => tab.getByRole("main").getByRole("article");
export const inThread = (tab: Page) =>
  tab.getByRole("complementary", { name: "Thread" }).getByRole("article");
