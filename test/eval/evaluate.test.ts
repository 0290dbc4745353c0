import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { delimiter, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { Report } from "../../eval/report-schema.ts";
import { atNight } from "../support/nightly.ts";
import { openTempDir, type TempDir } from "../support/temp-dir.ts";

const MAIN = fileURLToPath(new URL("../../eval/main.ts", import.meta.url));
const ACP_AGENT = fileURLToPath(new URL("../fixtures/agents/acp-agent.mjs", import.meta.url));
const FOLLOW_UP = "also say on the cli page that it is small";
const ANSWER = "the hosted one";
const STEPS = [
  { ifAsked: "has a typo", write: "./docs/quickstart.md", content: "# Quickstart\n\nInstall it.\n" },
  { ifAsked: ANSWER, write: "./docs/cli.md", content: "# CLI\n\nIt is hosted.\n" },
  // A follow-up's prompt has what was said before, so the last one counts.
  { ifAsked: FOLLOW_UP, write: "./docs/cli.md", content: "# CLI\n\nIt is small.\n" },
  {
    ifAsked: "how is it spelled",
    sources: [
      {
        statement: "It is spelled so.",
        source: { repository: "docs", path: "docs/quickstart.md", quote: "# Quickstart Instal it." },
      },
    ],
  },
  { say: "Fix a typo" },
];
let agent: string;

beforeAll(async () => {
  agent = await readFile(ACP_AGENT, "utf8");
});

/** Tasks, models, and an agent on the PATH under the name of a real one. */
async function prepare(dir: TempDir): Promise<{ env: NodeJS.ProcessEnv; args: string[] }> {
  const program = `#!/usr/bin/env node\nprocess.argv[2] = ${JSON.stringify(JSON.stringify(STEPS))};\n${agent}`;
  await mkdir(dir.file("bin"));
  await writeFile(dir.file("bin/opencode"), program);
  await chmod(dir.file("bin/opencode"), 0o755);
  await writeTask(dir, "typo", "Install it\\.");
  await writePages(dir, "tasks/typo/repository");
  await writeTask(dir, "more-than-a-typo", "Start it\\.");
  // This one is about the repository that --repository names.
  await writePages(dir, "own");
  const git = (...what: string[]) => promisify(execFile)("git", ["-C", dir.file("own"), ...what]);
  await git("init", "--quiet");
  await git("add", ".");
  await git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message=Docs");
  const model = { name: "none", kind: "anthropic", keyEnv: "NO_KEY", baseUrl: "http://127.0.0.1:9" };
  await writeFile(dir.file("models.yml"), stringify({ models: [model] }));
  const args = ["--preset", "opencode", "--models", dir.file("models.yml"), "--tasks", dir.file("tasks")];
  const more = [
    "--repository",
    dir.file("own"),
    "--max-tokens",
    "1000",
    "--at-once",
    "2",
    "--out",
    dir.file("out"),
  ];
  const path = [dir.file("bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const env = { PATH: path, HOME: dir.path, XDG_STATE_HOME: dir.file("state"), NO_KEY: "none-0123456789" };
  return { env, args: [MAIN, ...args, ...more] };
}

/** Tasks with a follow-up, with a request that needs an answer, and one that only asks. */
async function writeConversations(dir: TempDir): Promise<void> {
  await rm(dir.file("tasks"), { recursive: true });
  const small = { name: "cli", kind: "stands", in: ["docs/cli.md"], matches: "It is small" };
  const hosted = { ...small, matches: "It is hosted" };
  const more = { answer: ANSWER, followUps: [FOLLOW_UP] };
  await writeTask(dir, "follow-up", "Install it\\.", { followUps: [FOLLOW_UP] }, small);
  await writeTask(dir, "ask", "Instal it\\.", { request: "which one is it?", answer: ANSWER }, hosted);
  await writeTask(dir, "both", "Instal it\\.", { request: "which one is it?", ...more }, small);
  const question = { request: "how is it spelled?", expects: "no-change" };
  const named = { name: "source", kind: "source", of: ["docs/quickstart.md"] };
  await writeTask(dir, "question", "Instal it\\.", question, named);
  for (const name of ["follow-up", "ask", "both", "question"])
    await writePages(dir, `tasks/${name}/repository`);
}

async function writePages(dir: TempDir, folder: string): Promise<void> {
  await mkdir(dir.file(`${folder}/docs`), { recursive: true });
  await writeFile(dir.file(`${folder}/docs/quickstart.md`), "# Quickstart\n\nInstal it.\n");
}

async function writeTask(
  dir: TempDir,
  name: string,
  matches: string,
  over: object = {},
  ...more: object[]
): Promise<void> {
  await mkdir(dir.file(`tasks/${name}`), { recursive: true });
  const task = {
    tests: "A typo is corrected.",
    idea: "A test.",
    license: "MIT",
    request: "the quickstart has a typo",
    expects: "change",
    checks: [{ name: "says-it", kind: "stands", in: ["docs/quickstart.md"], matches }, ...more],
    wrong: [],
    ...over,
  };
  await writeFile(dir.file(`tasks/${name}/task.yml`), stringify(task));
}

async function reportIn(dir: TempDir): Promise<Report> {
  return Report.parse(JSON.parse(await readFile(dir.file("out/report.json"), "utf8")));
}

describe("an evaluation", { tags: ["bubblewrap"], timeout: 300_000 }, () => {
  it.concurrent("takes tasks through the job service, and its report tells what passed and what didn't", async () => {
    await using dir = await openTempDir();
    const { env, args } = await prepare(dir);
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    expect(stdout).toContain("typo, run 1: passed");
    expect(stdout).toContain("more-than-a-typo, run 1: failed says-it");
    expect(stdout).toContain("1 of 2 runs passed every check.");
    const { runs } = await reportIn(dir);
    expect(runs.map(({ task, outcome }) => [task, outcome])).toEqual([
      ["more-than-a-typo", "pull-request"],
      ["typo", "pull-request"],
    ]);
    const text = await readFile(dir.file("out/report.md"), "utf8");
    expect(text).toContain("**1 of 2 runs passed every check.**");
    expect(text).toContain("- run 1, says-it: It doesn't stand in docs/quickstart.md");
    expect(await readFile(dir.file("out/runs/typo-1.patch"), "utf8")).toContain("+Install it.");
    // All is done: the same command has nothing to do.
    const again = await promisify(execFile)(process.execPath, args, { env });
    expect(again.stdout).toContain("1 of 2 runs passed every check.");
    expect(again.stdout).not.toContain("Starting");
    // A gate in CI asks for more than half.
    const gate = promisify(execFile)(process.execPath, [...args, "--fail-below", "0.6", "--json"], { env });
    const refused = await gate.then(
      () => null,
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("less than --fail-below 0.6") });
    expect(JSON.parse(refused?.stdout ?? "")).toMatchObject({ passed: 1, runs: 2, share: 0.5 });
    await promisify(execFile)(process.execPath, [...args, "--fail-below", "0.5"], { env });
    const both = [dir.file("out/report.json"), dir.file("out/report.json")];
    const compare = [MAIN, "compare", ...both, "--fail-if-worse", "--json"];
    const compared = await promisify(execFile)(process.execPath, compare, { env });
    expect(JSON.parse(compared.stdout)).toMatchObject({ tasks: 2, verdict: "too-few", changed: [] });
    const other = promisify(execFile)(process.execPath, [...args, "--runs", "2"], { env });
    await expect(other).rejects.toThrow(/ran with other settings, tasks or another brief/);
  });

  it.concurrent(
    "sends follow-ups and answers in the same thread, and judges what stands at the end",
    { tags: "all" },
    async () => {
      await using dir = await openTempDir();
      const { env, args } = await prepare(dir);
      await writeConversations(dir);
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      expect(stdout).toContain("4 of 4 runs passed every check.");
      const patchOf = (task: string) => readFile(dir.file(`out/runs/${task}-1.patch`), "utf8");
      expect(await patchOf("follow-up")).toMatch(/\+It is small\.[^]*\+Install it\./);
      expect(await patchOf("ask")).toContain("+It is hosted.");
      // The last turn's state counts, on the same branch.
      expect(await patchOf("both")).toContain("+It is small.");
      // Judged again, it is the same.
      const rejudge = [MAIN, "rejudge", dir.file("out/report.json"), "--tasks", dir.file("tasks")];
      const again = await promisify(execFile)(process.execPath, rejudge, { env });
      expect(again.stdout).toContain("4 of 4 runs pass, 4 before.");
    },
  );

  it.concurrent.each(atNight(["SIGKILL"] as const, []))(
    "goes on after %s with the runs that it had begun",
    async (signal) => {
      await using dir = await openTempDir();
      const { env, args } = await prepare(dir);
      const child = spawn(process.execPath, [...args, "--runs", "2"], { env });
      for await (const line of createInterface({ input: child.stdout })) {
        if (line.includes("(1 of 4)")) break;
      }
      const ended = once(child, "close");
      child.kill(signal);
      await ended;
      const { stdout } = await promisify(execFile)(process.execPath, [...args, "--runs", "2"], { env });
      expect(stdout).toMatch(/Going on: [12] of 4 runs are done\./);
      expect(stdout).toContain("2 of 4 runs passed every check.");
      const { runs } = await reportIn(dir);
      expect(runs.map(({ outcome }) => outcome)).toEqual(Array(4).fill("pull-request"));
      // What the killed one had begun wasn't begun again: each run has one pull request.
      expect(await readFile(dir.file("out/service.log"), "utf8")).not.toContain("/pull/3");
    },
  );
});
