// @module-tag all
// @module-tag nightly
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { startBrowser, violationsOf } from "../../support/browser.ts";
import { openPullRequest, openTestHost } from "./setup.ts";

/** For a person to look at; set by hand. */
const SHOTS = process.env["CODE_HOST_SCREENSHOTS"];

const LONG =
  "A sentence that is long enough to need more than one line on any screen that people read docs on. ".repeat(
    3,
  );

async function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

it("fits a phone in light and dark, and merges from the keyboard", async () => {
  await using test = await openTestHost({
    "README.md": "# Tidepool\n\nThe docs.\n",
    "docs/quickstart.md": `# Quickstart\n\n${LONG}If you recieve it, keep it seperate.\n\nMore.\n\n1\n2\n3\n4\n5\n6\n7\n8\n\nThe end is immediatly near.\n`,
    "docs/old.md": "Old\n",
  });
  const fixed = `# Quickstart\n\n${LONG}If you receive it, keep it separate.\n\nMore.\n\n1\n2\n3\n4\n5\n6\n7\n8\n\nThe end is immediately near.\n`;
  const number = await openPullRequest(test, "docs-agent/7f3a9c", { "docs/quickstart.md": fixed });
  await test.octokit.rest.pulls.update({
    owner: "tidepool",
    repo: "docs",
    pull_number: number,
    title: "Correct 3 misspellings in docs/quickstart.md",
    body: "- docs/quickstart.md: recieve → receive; seperate → separate; immediatly → immediately\n\nI am a small rule-based program, not an AI. Please check what I did.\n\n> fix the typos in the quickstart",
  });
  const conflicting = await openPullRequest(test, "docs-agent/other", {
    "README.md": "# Tidepool\n\nMine.\n",
    "docs/new page.md": "New\n",
  });
  await test.push("main", { "README.md": "# Tidepool\n\nTheirs.\n" });
  const repository = test.host.repository("tidepool", "docs");
  const { data: head } = await test.octokit.rest.pulls.get({
    owner: "tidepool",
    repo: "docs",
    pull_number: number,
  });
  const words = "Two things:\n\n- The **first** sentence is too long.\n- Say `keep`, not `retain`.";
  const onLine = (line: number, body: string) => ({ path: "docs/quickstart.md", line, body });
  const comments = [onLine(3, "Is `receive` right here?"), onLine(16, LONG)];
  await repository.review(number, { author: "mira", state: "CHANGES_REQUESTED", body: words, comments });
  const [first, second] = repository.find(number)?.lineComments ?? [];
  await repository.reply(number, first?.id ?? 0, "docs-agent", "Yes, in the last commit.");
  await repository.resolve(number, second?.id ?? 0, "otto");
  test.host.rules.roles.set("otto", "triage");
  await repository.comment(number, "otto", "The build on my machine is green.");
  await repository.change(number, { reviewers: ["tidepool/writers"] });
  const check = { sha: head.head.sha, name: "spelling", result: "passed" } as const;
  await test.host.setCheck("tidepool", "docs", check);
  const failed = { name: "anchors", result: "failed", summary: `1 broken: ${LONG}` } as const;
  const report = {
    text: LONG,
    annotations: [{ path: "docs/quickstart.md", startLine: 3, message: LONG }],
    link: "https://ci.example.com/17",
  };
  await test.host.setCheck("tidepool", "docs", { ...check, ...failed, ...report });
  const browser = await startBrowser();
  try {
    const paths = {
      repository: "/tidepool/docs",
      rules: "/tidepool/docs/rules",
      pull: `/tidepool/docs/pull/${number}`,
      conflict: `/tidepool/docs/pull/${conflicting}`,
    };
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [380, 1200]) {
        const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
        const faults: string[] = [];
        page.on("console", (message) => faults.push(message.text()));
        for (const [name, path] of Object.entries(paths)) {
          await page.goto(test.host.url + path);
          await page.evaluate(
            "document.querySelectorAll('details').forEach((each) => { each.open = true; })",
          );
          expect(await overflow(page)).toBeLessThanOrEqual(0);
          expect(await violationsOf(page)).toEqual([]);
          if (SHOTS)
            await page.screenshot({ path: `${SHOTS}/${name}-${colorScheme}-${width}.png`, fullPage: true });
        }
        expect(faults).toEqual([]);
        await page.close();
      }
    }
    const page = await browser.newPage({ viewport: { width: 380, height: 800 } });
    await page.goto(test.host.url + paths.pull);
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
    await page.keyboard.press("Enter");
    const merge = page.getByRole("button", { name: "Merge" });
    for (let presses = 0; presses < 40; presses += 1) {
      if (await merge.evaluate((button) => button === button.ownerDocument.activeElement)) break;
      await page.keyboard.press("Tab");
    }
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/focus.png` });
    await page.keyboard.press("Enter");
    await page.getByText("Merged", { exact: true }).waitFor();
    expect(await page.getByRole("button").count()).toBe(0);
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/merged.png`, fullPage: true });
  } finally {
    await browser.close();
  }
});
