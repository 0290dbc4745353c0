// @module-tag all

import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";
import { shellCheck } from "../../support/shell-check.ts";

const FILES = {
  ...START_FILES,
  "src/wait.ts": "export const waitSeconds = 30;\nexport const retryLimit = 5;\n",
};
const WAITS = "It waits 30 seconds.";
const RETRIES = "It retries 5 times.";
const quotes: Record<string, string> = {
  [WAITS]: "export const waitSeconds = 30;",
  [RETRIES]: "export const retryLimit = 5;",
};
const ANA = { name: "Ana", link: "https://slack.example/1", isPrivate: false };
const BEN = { name: "Ben", link: "https://slack.example/2", isPrivate: false };

/** Writes these pages, a file outside of the docs, and names the sources of what they state. */
function agentThat(pages: Record<string, string>, { states = [] as [string, string][], outside = "" } = {}) {
  const claims = states.map(([page, statement]) => ({
    page,
    statement,
    source: { repository: "docs", path: "src/wait.ts", line: 1, quote: quotes[statement] },
  }));
  return inlineAgent(`
    for (const [path, text] of Object.entries(${JSON.stringify(pages)})) fs.writeFileSync(path, text);
    if (${JSON.stringify(outside)} !== "") fs.writeFileSync(${JSON.stringify(outside)}, "x");
    if (${states.length} > 0)
      fs.writeFileSync(process.env.TMPDIR + "/claims.json", ${JSON.stringify(JSON.stringify(claims))});
    console.log("Say more");`);
}

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

/** A world of one job, whose turns are run one after the other. */
function jobIn(world: World) {
  world.codeHost.rules.privateRepositories.add("acme/docs");
  const earlierTurns: { prompt: string; summary: string | null }[] = [];
  return async (agent: string[], requester = ANA) => {
    const prompt = `Turn ${earlierTurns.length + 1}`;
    const result = await world.run(world.project(agent), {
      prompt,
      requester,
      earlierTurns: [...earlierTurns],
    });
    earlierTurns.push({ prompt, summary: "Say more" });
    const shown = world.pulls()[0]?.body?.split("<details>")[0] ?? "";
    return { result, shown };
  };
}

it("a follow-up keeps the sources, the left-out files and the people of earlier turns", async () => {
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
  const turn = jobIn(world);
  const first = await turn(
    agentThat({ "docs/a.md": `${WAITS}\n` }, { states: [["docs/a.md", WAITS]], outside: "src/a.js" }),
  );
  expect(first.shown).toContain("**Sources: 1 of 1 found**");
  expect(first.shown).toContain("Requested by Ana in [this thread](<https://slack.example/1>).");
  world.restart();
  // Names no sources, and leaves out something else.
  const second = await turn(agentThat({ "docs/b.md": "Words.\n" }, { outside: "src/b.js" }), BEN);
  expect(second.result).toMatchObject({ claims: { total: 0, verified: 0 }, leftOut: ["src/b.js"] });
  expect(second.shown).toContain("**Sources: 1 of 1 found**");
  for (const path of ["src/a.js", "src/b.js"]) expect(second.shown).toContain(`- \`${path}\``);
  expect(second.shown).toContain("Requested by Ana and Ben in [this thread](<https://slack.example/2>).");
  const third = await turn(agentThat({ "docs/b.md": `${RETRIES}\n` }, { states: [["docs/b.md", RETRIES]] }));
  expect(third.result).toMatchObject({ claims: { total: 1, verified: 1 } });
  expect(third.shown).toContain("**Sources: 2 of 2 found**");
  expect(third.shown).toContain("Requested by Ana and Ben in");
  // On the same page, without sources.
  const fourth = await turn(agentThat({ "docs/a.md": `${WAITS} And then it ends.\n` }));
  expect(fourth.shown).toContain("**Sources: 2 of 2 found**");
});

it("what the change no longer says has no sources, and a note that an earlier version wrote is read", async () => {
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
  const turn = jobIn(world);
  const states: [string, string][] = [
    ["docs/a.md", WAITS],
    ["docs/b.md", RETRIES],
  ];
  await turn(agentThat({ "docs/a.md": `${WAITS}\n`, "docs/b.md": `${RETRIES}\n` }, { states }));
  const file = world.dir.file("data/turns/job1.json");
  const note = JSON.parse(await readFile(file, "utf8")) as { claims: { evidence?: string }[]; earlier?: [] };
  const claims = note.claims.map(({ evidence, ...claim }) => ({ ...claim, isFound: evidence === "code" }));
  await writeFile(file, JSON.stringify({ ...note, claims, earlier: undefined, requester: undefined }));
  const second = await turn(agentThat({ "docs/a.md": "It doesn't wait.\n" }));
  expect(second.shown).toContain("**Sources: 1 of 1 found**");
  expect(second.shown).not.toContain("30 seconds");
  const third = await turn(agentThat({ "docs/b.md": "It retries 7 times.\n" }));
  expect(third.shown).not.toContain("Sources");
});

it("of a first round, the sources stay whose pages the second one leaves as they were", async () => {
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: FILES });
  const claim = (page: string, statement: string) => ({
    page,
    statement,
    source: { repository: "docs", path: "src/wait.ts", line: 1, quote: quotes[statement] },
  });
  const agent = inlineAgent(`
    if (fs.readFileSync(0, "utf8").includes("The project's checks found")) {
      fs.writeFileSync("docs/b.md", "It retries. 5 times it does.\\n");
    } else {
      fs.writeFileSync("docs/a.md", ${JSON.stringify(WAITS)});
      fs.writeFileSync("docs/b.md", ${JSON.stringify(`${RETRIES} BAD`)});
      const claims = ${JSON.stringify([claim("docs/a.md", WAITS), claim("docs/b.md", RETRIES)])};
      fs.writeFileSync(process.env.TMPDIR + "/claims.json", JSON.stringify(claims));
    }
    console.log("Say more");`);
  const verify = [shellCheck("if grep -rn BAD docs; then exit 1; fi")];
  expect(await world.run(world.project(agent, { verify }))).toMatchObject({
    claims: { total: 1, verified: 1 },
  });
  expect(world.pulls()[0]?.body).toContain("`docs/a.md`: It waits 30 seconds. – source found");
});
