import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
export const hasChromium = existsSync(executablePath);
if (!hasChromium) {
  console.log(`Skipping the tests that need a browser: there is no Chromium at ${executablePath}.`);
}

/** A headless browser that reaches nothing but this machine. */
export async function startBrowser(): Promise<Browser & AsyncDisposable> {
  return chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

const AXE = fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));

/** What axe finds wrong for people who can't see or use a mouse: the rule, and where. */
export async function violationsOf(tab: Page): Promise<string[]> {
  await tab.evaluate(readFileSync(AXE, "utf8"));
  const { violations } = await tab.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    "axe.run(document, { rules: { 'label-content-name-mismatch': { enabled: true } } })",
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
