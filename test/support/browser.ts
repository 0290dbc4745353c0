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

/** The screens on which a page is looked at. */
const SCREENS = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];
/** The most presses of Tab. A page may have more to stop at. */
const STOPS_MAX = 60;

/**
 * Whether Tab led to something on the screen that shows it: an outline, a shadow, or another color
 * than without it. `null`: it led out of the page.
 */
const FOCUS = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body || at === document.documentElement) return null;
  const looks = () => [at, at.parentElement].map((each) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor, backgroundColor } = getComputedStyle(each);
    const outline = outlineStyle === "none" || outlineWidth === "0px" ? "" : outlineStyle + outlineWidth;
    return [outline, boxShadow, borderColor, backgroundColor].join();
  }).join();
  const { width, height } = at.getBoundingClientRect();
  const shown = looks();
  at.blur();
  const without = looks();
  at.focus({ focusVisible: true });
  const isSeen = shown !== without && width > 0 && height > 0;
  return { tag: at.outerHTML.slice(0, 160), isSeen };
})()`;

/**
 * Resolves to what is wrong with a page in light and dark, on a wide screen and on a phone: what
 * axe finds, what is wider than the screen, and stops of Tab that don't show. With `SHOTS`, it
 * leaves screenshots in that folder.
 */
export async function faultsOfPage(tab: Page, name: string): Promise<string[]> {
  const faults: string[] = [];
  const before = tab.viewportSize();
  for (const screen of SCREENS) {
    await tab.setViewportSize(screen);
    for (const colorScheme of ["dark", "light"] as const) {
      await tab.emulateMedia({ colorScheme });
      const at = `${name}, ${colorScheme}, ${screen.width} px`;
      faults.push(...(await violationsOf(tab)).map((fault) => `${at}: ${fault}`));
      const wide = await tab.evaluate<number>("document.documentElement.scrollWidth");
      if (wide > screen.width) faults.push(`${at}: it is ${wide} px wide`);
      const folder = process.env["SHOTS"];
      if (folder !== undefined) await tab.screenshot({ path: `${folder}/${at.replaceAll(/\W+/g, "-")}.png` });
      faults.push(...(await hiddenStops(tab)).map((stop) => `${at}: focus doesn't show at ${stop}`));
    }
  }
  await tab.emulateMedia({ colorScheme: null });
  if (before !== null) await tab.setViewportSize(before);
  return faults;
}

/** What Tab stops at without showing it, from the beginning of the page on. */
async function hiddenStops(tab: Page): Promise<string[]> {
  await tab.evaluate("document.activeElement?.blur?.(); getSelection()?.removeAllRanges(); scrollTo(0, 0)");
  const hidden: string[] = [];
  let stops = 0;
  for (; stops < STOPS_MAX; stops += 1) {
    await tab.keyboard.press("Tab");
    const focus = await tab.evaluate<{ tag: string; isSeen: boolean } | null>(FOCUS);
    if (focus === null) break;
    if (!focus.isSeen) hidden.push(focus.tag);
  }
  return stops === 0 ? ["nothing: Tab leads nowhere"] : [...new Set(hidden)];
}
