import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { need } from "./need.ts";
import { CHROMIUM_PATH } from "./tools.ts";

/** Starts a headless browser that can reach only this machine. */
export async function startBrowser(): Promise<Browser & AsyncDisposable> {
  need("chromium");
  return chromium.launch({
    executablePath: CHROMIUM_PATH,
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

/**
 * Resolves to the problems that axe finds for people who can't see or can't use a mouse: the rule,
 * and the place.
 */
export async function violationsOf(tab: Page): Promise<string[]> {
  await tab.evaluate(readFileSync(AXE, "utf8"));
  const { violations } = await tab.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    "axe.run(document, { rules: { 'label-content-name-mismatch': { enabled: true } } })",
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
