import { fileURLToPath } from "node:url";
import { startPlayground } from "../playground/playground.ts";
import { openStateFolder } from "../playground/state-folder.ts";
import { startBrowser } from "./support/browser.ts";
import { openTempDir } from "./support/temp-dir.ts";

/** Channel and thread, without the page's top and its list of channels. */
const CLIP = { x: 232, y: 48, width: 948, height: 656 };

// Makes the README's picture anew, light and dark: a request in the playground, and the thread with its pull request.
// It needs Chromium and a font with emoji (on Debian: fonts-noto-color-emoji).
await using dir = await openTempDir();
await using browser = await startBrowser();
await using playground = await startPlayground({
  state: openStateFolder(dir.path, false),
  port: 0,
  agent: null,
  env: { PATH: process.env["PATH"] ?? "" },
  agentEnv: {},
});
const tab = await browser.newPage({ viewport: { width: 1180, height: 704 }, deviceScaleFactor: 1.5 });
// A busy machine takes its time.
tab.setDefaultTimeout(300_000);
await tab.goto(playground.url);
await tab.locator("html[data-ready]").waitFor();
await tab.getByRole("button", { name: "Close the card" }).click();
const field = tab.getByRole("textbox", { name: /^Message / });
await field.fill("/docs-agent fix the typos in the quickstart");
await field.press("Enter");
const root = tab
  .getByRole("main")
  .getByRole("article")
  .filter({ hasText: "fix the typos in the quickstart" });
await root.getByText("👀 Waiting for review").waitFor();
await root.getByRole("button", { name: /^1 reply/ }).click();
await tab
  .getByRole("complementary", { name: "Thread" })
  .getByRole("link", { name: /^View pull request/ })
  .waitFor();
await tab.mouse.move(0, 0);
for (const colorScheme of ["light", "dark"] as const) {
  await tab.emulateMedia({ colorScheme });
  const path = fileURLToPath(new URL(`../docs/images/thread-${colorScheme}.png`, import.meta.url));
  await tab.screenshot({ path, clip: CLIP });
  process.stdout.write(`Wrote ${path}\n`);
}
