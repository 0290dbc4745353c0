// @module-tag all

import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { writeFiles } from "../../eval/files.ts";
import { readTask, taskNames } from "../../eval/task.ts";
import { type Commit, makeHistory } from "../support/mined-history.ts";
import { openTempDir } from "../support/temp-dir.ts";

const MAIN = fileURLToPath(new URL("../../eval/main.ts", import.meta.url));

const SERVER = `
/** The server that shows a site as it was built. */
export const DEFAULT_PREVIEW_PORT = 4173;

export function startPreview(port = DEFAULT_PREVIEW_PORT): void {
  listen(port);
}
`;

const PREVIEW = `# Preview

Build the site first. The preview shows what was built, and nothing of it changes while you look.

## Port

The preview server listens on port \`5000\` by default, unless another program uses that one already.

- Set another port if two sites are open.
- Close the preview before you build again.

## From code

Start the preview from a script, for example before the tests of a browser:

\`\`\`ts
import { runPreview } from "tidepool";

runPreview();
\`\`\`

The script ends when the server is closed. Every page is read again when it is asked for.

## Cache

Pages stay in the cache for 30 minutes. See [the settings](settings.md) for how to change that.
`;

const SETTINGS = `# Settings

Settings are read from one file. All of them are optional, and most sites need none.

| setting | default | what it does |
|---|---|---|
| \`cacheMinutes\` | 30 | how long pages stay in the cache |
| \`outputFolder\` | build | where the site is written |

## More

Read [how the preview works](guide/prevew.md#port) before you change the port. Names of settings are
written as they are here, and the program says so if it doesn't know one.

* Put the file beside the pages.
* Restart the preview after a change.
`;

const edited = (text: string, ...edits: [string, string][]) =>
  edits.reduce((result, [from, to]) => result.replace(from, to), text);

const PREVIEW_1 = edited(PREVIEW, ["`5000`", "`4173`"]);
const PREVIEW_2 = edited(
  PREVIEW_1,
  ["{ runPreview }", "{ startPreview }"],
  ["runPreview();", "startPreview();"],
);
const PREVIEW_3 = edited(PREVIEW_2, ["30 minutes", "45 minutes"]);
const PREVIEW_4 = edited(PREVIEW_3, ["45 minutes", "60 minutes"]);
const SETTINGS_1 = edited(SETTINGS, ["guide/prevew.md#port", "guide/preview.md#port"]);
const SETTINGS_2 = edited(SETTINGS_1, ["| build |", "| dist |"]);
const SETTINGS_3 = edited(SETTINGS_2, ["* Put", "- Put"], ["* Restart", "- Restart"]);

const COMMITS: Commit[] = [
  {
    message: "First pages",
    day: "2024-01-02",
    files: { "docs/guide/preview.md": PREVIEW, "docs/settings.md": SETTINGS, "src/server.ts": SERVER },
  },
  {
    message: "docs: correct the default port of the preview server to `4173` (#7)",
    day: "2024-02-01",
    files: { "docs/guide/preview.md": PREVIEW_1 },
  },
  {
    message: "docs: the sample calls `startPreview`, `runPreview` is gone",
    day: "2024-03-01",
    files: { "docs/guide/preview.md": PREVIEW_2 },
  },
  { message: "fix a dead link", day: "2024-03-02", files: { "docs/settings.md": SETTINGS_1 } },
  {
    message: "Pages stay in the cache for 45 minutes",
    day: "2024-04-01",
    files: { "docs/guide/preview.md": PREVIEW_3 },
  },
  {
    message: "Pages stay in the cache for 60 minutes",
    day: "2024-04-20",
    files: { "docs/guide/preview.md": PREVIEW_4 },
  },
  {
    message: "Update docs",
    day: "2024-05-01",
    author: "docs-syncer[bot]",
    files: { "docs/guide/preview.md": edited(PREVIEW_4, ["Build the site", "Make the site"]) },
  },
  { message: "docs: outputFolder (fixes #12)", day: "2024-06-01", files: { "docs/settings.md": SETTINGS_2 } },
  { message: "Lists look alike", day: "2024-06-02", files: { "docs/settings.md": SETTINGS_3 } },
  {
    message: "The preview listens on 4180",
    day: "2024-07-01",
    files: {
      "src/server.ts": edited(SERVER, ["4173", "4180"]),
      "docs/guide/preview.md": edited(PREVIEW_4, ["`4173`", "`4180`"]),
    },
  },
];

const ISSUES = [
  {
    number: 12,
    title: "outputFolder isn't build",
    body: "The settings page says that outputFolder is build by default. I looked, and it is dist.",
  },
  {
    number: 7,
    title: "Correct the default port of the preview server to `4173`",
    body: "Nobody got an answer on 5000.\n\n- [x] I read the guide.",
    pull_request: {},
  },
];

async function evalCommand(...args: string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [MAIN, ...args])).stdout;
}

it("makes tasks of commits that fixed the docs, and says why the others fall out", async () => {
  await using dir = await openTempDir();
  const [repository, out] = [dir.file("tidepool"), dir.file("mined")];
  makeHistory(repository, COMMITS);
  await writeFile(dir.file("issues.json"), JSON.stringify(ISSUES));
  const how = ["--since", "2021-01-01", "--issues", dir.file("issues.json"), "--out", out];
  const said = await evalCommand("mine", "--repository", repository, ...how, "--json");
  expect(JSON.parse(said)).toMatchObject({
    commits: 9,
    tasks: 5,
    kinds: { fact: 3, sample: 1, link: 1 },
    requests: { issue: 1, told: 4 },
    fellOut: { bot: 1, layout: 1, "code-too": 1, "fixed-again": 1 },
  });
  // Tasks need the original no more.
  await rm(repository, { recursive: true });
  const names = await taskNames(out);
  const tasks = await Promise.all(names.map((name) => readTask(out, name)));
  const requests = new Map(tasks.map(({ request, mined }) => [mined?.date, request]));
  expect(requests.get("2024-02-01")).toBe(
    [
      "Correct the default port of the preview server to what the code says",
      "Nobody got an answer on 5000.",
      "It's on docs/guide/preview.md.",
    ].join("\n\n"),
  );
  expect(requests.get("2024-06-01")).toBe(`${ISSUES[0]?.title}\n\n${ISSUES[0]?.body}`);
  expect(await evalCommand("check", "--tasks", out)).toBe(names.map((name) => `ok     ${name}\n`).join(""));

  const fact = tasks.find(({ mined }) => mined?.date === "2024-02-01");
  if (fact?.right === null || fact === undefined) throw new Error("There is no such task.");
  expect(fact.base.get("src/server.ts")?.toString()).toBe(SERVER);
  expect(fact.right.get("docs/guide/preview.md")?.toString()).toBe(PREVIEW_1);
  const inOut = ["--tasks", out];
  const passes = async (page: string) => {
    await writeFiles(dir.file("solved"), new Map(fact.base).set("docs/guide/preview.md", Buffer.from(page)));
    const judged = await evalCommand(
      "judge",
      fact.name,
      "--repository",
      dir.file("solved"),
      ...inOut,
      "--json",
    );
    return parse(judged) as { passed: boolean };
  };
  expect(await passes(PREVIEW_1)).toMatchObject({ passed: true });
  expect(await passes(edited(PREVIEW, ["port `5000` by default", "port `4173`"]))).toMatchObject({
    passed: true,
  });
  expect(await passes(PREVIEW)).toMatchObject({ passed: false });
  expect(await passes(edited(PREVIEW, ["`5000`", "`5173`"]))).toMatchObject({ passed: false });

  const record = JSON.parse(await readFile(`${out}/tidepool.json`, "utf8"));
  expect(record.seen).toContainEqual(
    expect.objectContaining({ subject: "Pages stay in the cache for 45 minutes", reason: "fixed-again" }),
  );
}, 600_000);

it("shows what hygiene finds in the history of a repository", async () => {
  await using dir = await openTempDir();
  const repository = dir.file("tidepool");
  makeHistory(repository, [
    { message: "First pages", day: "2024-01-02", files: { "docs/preview.md": PREVIEW, "src/a.ts": SERVER } },
    {
      message: "Merged by hand",
      day: "2024-02-01",
      files: { "docs/preview.md": `${PREVIEW}\n<<<<<<< HEAD\nOne\n=======\nTwo\n>>>>>>> other\n` },
    },
    { message: "A word", day: "2024-02-02", files: { "docs/settings.md": SETTINGS } },
    { message: "Code", day: "2024-02-03", files: { "src/a.ts": `${SERVER}\n<<<<<<< HEAD\n` } },
  ]);
  const how = ["--repository", repository, "--since", "2024-01-01", "--out", dir.file("out")];
  const found = JSON.parse(await evalCommand("hygiene", ...how, "--json"));
  expect(found).toMatchObject({ commits: 2, commitsWithFindings: 1 });
  expect(found.findings[0]).toMatchObject({ path: "docs/preview.md", line: 28, rule: "conflict-markers" });
  expect(await evalCommand("hygiene", ...how, "--limit", "1")).toBe("0 of 1 commits have a finding.\n");
});
