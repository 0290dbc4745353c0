import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

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
