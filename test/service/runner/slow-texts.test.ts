// @module-tag all

import { expect, it } from "vitest";
import type { ServiceProject } from "../../../src/service/config/config.ts";
import { ReaderProcesses } from "../../../src/service/runner/process/apart/apart.ts";
import { atNight } from "../../support/nightly.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";
import { SLOW_TEXTS, slowAgent, slowRequest, type SlowText } from "../../support/slow-texts.ts";
import { shellCheck } from "../../support/shell-check.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

function projectOf(world: World, slow: SlowText): ServiceProject {
  const { kind = "command", check } = slow;
  const command = inlineAgent(slowAgent(slow));
  const isAcp = kind === "acp";
  const project = isAcp ? world.acpProject(command, { maxOutputBytes: 1024 ** 3 }) : world.project(command);
  const verify = check === undefined ? [] : [shellCheck(check, { name: "lines", blocking: false })];
  return { ...project, verify };
}

/** Runs a turn of the slow text: a follow-up, if somebody reviews the pull request first. */
async function runSlow(world: World, slow: SlowText): ReturnType<World["run"]> {
  const project = projectOf(world, slow);
  const asked = { jobId: "slow", ...slowRequest() };
  const { review } = slow;
  if (review === undefined) return world.run(project, asked);
  const first = await world.run(project, asked);
  expect(first).toMatchObject({ kind: "pull-request" });
  const number = "pullRequest" in first ? first.pullRequest?.number : null;
  await world.asPerson("PATCH", `${number}`, { body: review.text });
  await world.commitTo("docs-agent/slow", { "docs/suggested.md": "Better\n" }, review.message);
  return world.run(project, {
    ...asked,
    ...slowRequest(review.text),
    earlierTurns: [{ prompt: asked.prompt, words: asked.words, summary: "Fixed" }],
  });
}

const NAMES = Object.keys(SLOW_TEXTS);
const BY_DAY = /script without|short words|a check/;

it.each(
  atNight(
    NAMES,
    NAMES.filter((name) => BY_DAY.test(name)),
  ),
)("no other turn waits for %s", async (name) => {
  const slowText = SLOW_TEXTS[name] ?? { agent: "" };
  using readers = new ReaderProcesses({ timeLimitMs: 10_000 });
  const files = { ...START_FILES, ...slowText.files };
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files, readers });
  const slow = runSlow(world, slowText);
  let isOver = false;
  const over = slow.finally(() => (isOver = true));
  // What the thread can't do meanwhile, a person waits for.
  let longestMs = 0;
  let beforeMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = nowMs;
  }, 20);
  const other = world.project(inlineAgent(`fs.appendFileSync("docs/quickstart.md", "Fine\\n");`));
  let others = 0;
  do {
    expect(await world.run(other, { jobId: `other${others}` })).toMatchObject({ kind: "pull-request" });
    others += 1;
  } while (!isOver);
  clearInterval(timer);
  const result = await over;
  if (result.kind === "failed") expect(result.reason).toMatch(/too (?:long|large)|may have/);
  else expect(["pull-request", "no-changes"]).toContain(result.kind);
  // On a machine with much else to do; what is read on this thread takes a minute.
  expect(longestMs).toBeLessThan(8000);
});
