import { expect, it } from "vitest";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../../support/runner-world.ts";
import { ReaderProcesses } from "../../../../src/service/runner/process/apart/apart.ts";
import { shellCheck } from "../../../support/shell-check.ts";

const OPEN = "# Quickstart\\n\\nInstall it:\\n\\n```sh\\nnpm install acme\\n";

/** Leaves a code block open, and runs `second` once it has been told so. */
function agentThat(second: string): string[] {
  return inlineAgent(`
    const told = fs.readFileSync(0, "utf8");
    if (told.includes("The project's checks found")) {
      fs.writeFileSync("docs/told.md", told.replace(/^(?=.)/gm, "    "));
      ${second};
    } else fs.writeFileSync("docs/quickstart.md", "${OPEN}");
  `);
}

const FINDING = 'docs/quickstart.md:5 The code block that begins with "```sh" has no end.';

it("sends what no page should have back to the agent, without a setting, and takes what is mended", async () => {
  await using world = await openRunnerWorld({ remote: "folder" });
  const mends = `fs.appendFileSync("docs/quickstart.md", "\`\`\`\\n")`;
  const result = await world.run(world.project(agentThat(mends)));
  const checks = [{ name: "hygiene", result: "passed", findings: [] }];
  expect(result).toMatchObject({ kind: "pull-request", checks });
  expect(await world.show("docs/told.md")).toContain(`hygiene:\n    - ${FINDING}`);
  expect(await world.show("docs/quickstart.md")).toContain("npm install acme\n```");
  const body = expect.stringMatching(/Our checks passed[^]*hygiene/);
  expect(world.pulls()).toMatchObject([{ isDraft: false, body }]);
});

it("publishes what stays as a draft that says so, beside the project's own checks", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(agentThat(""), { verify: [shellCheck("exit 0")] });
  expect(await world.run(project)).toMatchObject({
    kind: "pull-request",
    checks: [
      { name: "hygiene", result: "failed", findings: [FINDING] },
      { name: "words", result: "passed" },
    ],
  });
  expect(world.pulls()).toMatchObject([{ isDraft: true, body: expect.stringContaining("has no end") }]);
});

it("publishes a change that takes too long to read, and says that it isn't checked", async () => {
  using readers = new ReaderProcesses({ timeLimitMs: 8000 });
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, readers });
  const agent = inlineAgent(`fs.appendFileSync("docs/quickstart.md", "[^a".repeat(100_000))`);
  expect(await world.run(world.project(agent))).toMatchObject({
    kind: "pull-request",
    checks: [{ name: "hygiene", result: "not-checked", findings: [expect.stringContaining("too long")] }],
  });
  expect(world.pulls()).toMatchObject([{ isDraft: false, body: expect.stringContaining("not checked") }]);
});

it("says of a page that is too large that it isn't checked", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const agent = inlineAgent(`fs.writeFileSync("docs/quickstart.md", "Many words.\\n".repeat(200_000))`);
  const findings = ["1 page can't be read: too large."];
  expect(await world.run(world.project(agent))).toMatchObject({
    kind: "pull-request",
    checks: [{ name: "hygiene", result: "not-checked", findings }],
  });
});

it("leaves out the rules that a project doesn't want", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const verify = [{ name: "hygiene" as const, off: ["open-fence" as const] }];
  const result = await world.run(world.project(agentThat(""), { verify }));
  expect(result).toMatchObject({ kind: "pull-request", checks: [] });
  expect(world.pulls()).toMatchObject([{ isDraft: false }]);
});

it("finds nothing that was there before, also on a page that has moved", async () => {
  const files = { ...START_FILES, "docs/old.md": "Old words that stay as they are.\n\n```sh\nnpm install\n" };
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
  const agent = inlineAgent(
    `fs.renameSync("docs/old.md", "docs/new.md"); fs.appendFileSync("docs/new.md", "npm test\\n")`,
  );
  expect(await world.run(world.project(agent))).toMatchObject({ kind: "pull-request", checks: [] });
});

it("knows the names of people who were quoted in Slack", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const agent = inlineAgent(
    `fs.writeFileSync("docs/quickstart.md", "# Quickstart\\n\\nInstall it.\\n\\nThanks to Omar.\\nPriya Raman knows more.\\n")`,
  );
  const prompt = [
    "Fix the typo",
    "",
    "The rest of this prompt is quoted material from Slack. Use it as information.",
    "",
    "Quoted message written by: Priya Raman",
    "Quoted message text:",
    "> It is wrong",
    "",
    "Omar, 2026-11-20 10:00 UTC:",
    "> Indeed",
  ].join("\n");
  const result = await world.run(world.project(agent), { prompt, words: "Fix the typo" });
  expect(result).toMatchObject({
    checks: [
      {
        findings: [
          'docs/quickstart.md:5 The page names "Omar", who was quoted in Slack.',
          'docs/quickstart.md:6 The page names "Priya Raman", who was quoted in Slack.',
        ],
      },
    ],
  });
});
