import type { Browser, Page } from "playwright-core";
import { startPlayground } from "../../playground/playground.ts";
import { openStateFolder } from "../../playground/state-folder.ts";
import { COMPILE_CACHE } from "./child-process.ts";

/** Real programs, a real agent process and real git take seconds, and longer on a busy machine. */
const PATIENCE_MS = 120_000;
const RELOAD_MS = 500;

/** Opens the whole playground, as `npm run playground` starts it, with its page in a browser. */
export async function openPlayground(browser: Browser, dir: string) {
  const stack = new AsyncDisposableStack();
  const playground = stack.use(
    await startPlayground({
      state: openStateFolder(dir, false),
      port: 0,
      agent: null,
      env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: COMPILE_CACHE },
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

/** The messages of the channel on the screen. */
export const inChannel = (tab: Page) => tab.getByRole("main").getByRole("article");
/** The messages of the open thread. */
export const inThread = (tab: Page) =>
  tab.getByRole("complementary", { name: "Thread" }).getByRole("article");

/** Saves a screenshot if `SHOTS` names a folder. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env["SHOTS"];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
}

/** Saves screenshots of the page in light and in dark. */
export async function shootBoth(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    await shoot(page, `${name}-${colorScheme}`);
  }
}

/** Saves screenshots of the page in both colors, wide and as on a phone. */
export async function shootAll(page: Page, name: string): Promise<void> {
  if (process.env["SHOTS"] === undefined) return;
  const before = page.viewportSize();
  for (const size of [
    { width: 1400, height: 900 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(size);
    await shootBoth(page, `${name}-${size.width}`);
  }
  if (before !== null) await page.setViewportSize(before);
}

/** Opens a channel by its name in the list. */
export async function openChannel(tab: Page, name: string): Promise<void> {
  await tab
    .getByRole("navigation")
    .getByRole("link", { name: new RegExp(name) })
    .or(tab.getByRole("navigation").getByRole("button", { name: new RegExp(name) }))
    .first()
    .click();
}

/** Sends `/docs-agent` with this text from the message field. */
export async function ask(tab: Page, text: string): Promise<void> {
  const composer = tab.getByRole("textbox", { name: /^Message / });
  await composer.fill(`/docs-agent ${text}`);
  await composer.press("Enter");
}

/**
 * Opens the pull request that the last reply of the open thread links to. Resolves to the page and
 * its text.
 */
export async function openPullRequest(tab: Page): Promise<{ page: Page; text: string }> {
  const link = inThread(tab)
    .last()
    .getByRole("link", { name: /^View pull request/ });
  await link.waitFor();
  const [page] = await Promise.all([tab.context().waitForEvent("page"), link.click()]);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return { page, text: await page.locator("body").innerText() };
}

/** Presses the buttons on a pull request's page once the rules of its branch allow the merge. */
export async function approveAndMerge(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Approve" }).click();
  await reloadUntil(page, "every link finds its heading");
  await page.getByRole("button", { name: "Merge" }).click();
  await page
    .getByText(/^Merged/)
    .first()
    .waitFor();
}

/** Reloads a page of the code host until it shows this text. */
export async function reloadUntil(page: Page, text: string): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while ((await page.getByText(text).count()) === 0 && Date.now() < until) {
    await page.waitForTimeout(RELOAD_MS);
    await page.reload();
  }
  await page.getByText(text).first().waitFor();
}
