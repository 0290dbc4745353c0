// @module-tag all

import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { addsPage, FOLLOW_UP } from "../../support/pull-request-texts.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { sessionProject } from "../../support/session-agent.ts";
import { shellCheck } from "../../support/shell-check.ts";
import { whileWorking } from "../../support/while-working.ts";
import type { QuestionAnswer } from "../../../src/shared/contract/question.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;
const BRANCH = "docs-agent/job1";
const CLOSED = "#1 was closed without merging";

const close = (world: World) => world.asPerson("PATCH", "1", { state: "closed" });
/** Asked for before what happens next. */
const askedBefore = () => ({ ...FOLLOW_UP, acceptedAt: Date.now() });

it("says what to do if nobody can be asked about a closed pull request, and opens one when asked again", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const input = askedBefore();
  await close(world);
  expect(await world.run(world.project(addsPage("two")), input)).toMatchObject({
    kind: "failed",
    reason: `${CLOSED}, so nothing was published. To get a new pull request, ask again.`,
  });
  expect(await world.changed()).toEqual(["docs/one.md"]);
  expect(await world.run(world.project(addsPage("two")), FOLLOW_UP)).toMatchObject({
    pullRequest: { number: 2, state: "open" },
  });
  expect(await world.changed()).toEqual(["docs/one.md", "docs/two.md"]);
});

it.each([
  ["an hour ahead", () => new Date(Date.now() + 3_600_000).toISOString()],
  ["not told", () => null],
])("asks nobody twice about a close, whatever time the code host gives it: %s", async (_, closedAt) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const input = askedBefore();
  await close(world);
  // Its answers say so, and nothing else changes.
  const answer = await fetch(`${world.codeHost.apiUrl}/repos/acme/docs/pulls?state=all`, {
    headers: { authorization: `token ${world.token}` },
    signal: AbortSignal.timeout(10_000),
  });
  const [pull] = (await answer.json()) as object[];
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify([{ ...pull, closed_at: closedAt() }]);
  world.api.fault = (request) =>
    request.startsWith("GET") && request.includes("/pulls?")
      ? { kind: "http", status: 200, headers, body }
      : undefined;
  expect(await world.run(world.project(addsPage("two")), input)).toMatchObject({ kind: "failed" });
  expect(await world.run(world.project(addsPage("two")), FOLLOW_UP)).toMatchObject({
    pullRequest: { number: 2, state: "open" },
  });
});

it("takes a close that the service saw before for a known one", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  await close(world);
  const input = { ...FOLLOW_UP, closedSeenAt: 2000 };
  expect(await world.run(world.project(addsPage("two")), { ...input, acceptedAt: 1999 })).toMatchObject({
    kind: "failed",
  });
  expect(await world.run(world.project(addsPage("two")), { ...input, acceptedAt: 2000 })).toMatchObject({
    pullRequest: { number: 2, state: "open" },
  });
});

it("sees that a pull request was closed while the agent worked, though our clock is ahead", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const { onLine, wait } = whileWorking(world, () => close(world));
  const agent = ["sh", "-c", `${wait}echo two > docs/two.md; echo Add two`];
  const input = { ...FOLLOW_UP, acceptedAt: Date.now() + 3_600_000, onLine };
  expect(await world.run(world.project(agent), input)).toMatchObject({ kind: "failed" });
  expect(await world.changed()).toEqual(["docs/one.md"]);
});

it("answers a follow-up that changes nothing, whatever became of the pull request", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const input = askedBefore();
  await close(world);
  const answer = ["sh", "-c", "echo It is on the first page."];
  expect(await world.run(world.project(answer), input)).toMatchObject({
    kind: "no-changes",
    summary: "It is on the first page.",
  });
});

const OPENS_ANOTHER = { kind: "pull-request", pullRequest: { number: 2, state: "open" } };
it.each<[string, QuestionAnswer | null, boolean, object]>([
  ["yes", { choice: "open" }, false, OPENS_ANOTHER],
  [
    "no",
    { choice: "stop" },
    false,
    { kind: "no-changes", reason: `Nothing was published, because ${CLOSED}.` },
  ],
  ["nothing", null, false, { kind: "failed" }],
  ["yes, once it was reopened", { choice: "open" }, true, { pullRequest: { number: 1, state: "open" } }],
])("asks whether to open another after a close, and hears %s", async (_, answer, isReopened, expected) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const input = askedBefore();
  await close(world);
  const project = sessionProject(world, {});
  if (project.agent.kind === "acp") project.agent.permissions = "ask";
  const asked: unknown[] = [];
  const ask = async ({ text, choices }: { text: string; choices: { label: string }[] }) => {
    asked.push(text, ...choices.map(({ label }) => label));
    if (isReopened) await world.asPerson("PATCH", "1", { state: "open" });
    return answer;
  };
  expect(await world.run(project, { ...input, ask })).toMatchObject(expected);
  expect(asked).toEqual([`${CLOSED}. Open a new pull request with this change?`, "Open a new one", "Stop"]);
  expect(world.pulls()).toHaveLength(expected === OPENS_ANOTHER ? 2 : 1);
});

it("runs again if what was merged meanwhile leaves no room for the change", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const { onLine, wait } = whileWorking(world, async () => {
    await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
    await world.commitTo("main", { "README.md": "# Acme\n\nTheir product.\n" }, "Reword");
  });
  const agent = ["sh", "-c", `${wait}sed -i s/Teh/The/ README.md; echo two > docs/two.md; echo Add two`];
  await expect(world.run(world.project(agent), { ...FOLLOW_UP, onLine })).rejects.toThrow(TransientRunError);
  expect(await world.show("README.md")).toContain("Teh");
  expect(await world.run(world.project(agent), FOLLOW_UP)).toMatchObject({ pullRequest: { number: 2 } });
  expect(await world.show("README.md")).toContain("Their product");
  expect(await world.changed(BRANCH)).toEqual(["docs/two.md"]);
});

it("opens nothing for a change that was merged meanwhile", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const { onLine, wait } = whileWorking(world, async () => {
    await world.asPerson("PUT", "1/merge", { merge_method: "merge" });
    await world.commitTo("main", { "docs/two.md": "two\n" }, "The same");
  });
  const agent = ["sh", "-c", `${wait}echo two > docs/two.md; echo Add two`];
  expect(await world.run(world.project(agent), { ...FOLLOW_UP, onLine })).toMatchObject({
    kind: "no-changes",
    reason: "The changes are in main already.",
  });
  expect(world.pulls()).toHaveLength(1);
});

it("checks the change once more on the base branch that it goes on from", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(addsPage("one")));
  const { onLine, wait } = whileWorking(world, async () => {
    await world.asPerson("PUT", "1/merge", { merge_method: "rebase" });
    await world.commitTo("main", { "docs/rules.md": "no two\n" }, "Forbid it");
  });
  const command = "test -e docs/two.md && grep -l 'no two' docs/rules.md && exit 1; exit 0";
  const verify = [shellCheck(command, { name: "rules", timeoutSeconds: 60 })];
  const agent = ["sh", "-c", `${wait}echo two > docs/two.md; echo Add two`];
  expect(await world.run(world.project(agent, { verify }), { ...FOLLOW_UP, onLine })).toMatchObject({
    checks: [{ name: "rules", result: "failed", findings: ["docs/rules.md"] }],
  });
  expect(world.pulls().at(-1)).toMatchObject({ number: 2, isDraft: true });
});

it.each([
  ["a backport", (world: World) => open(world, "v1")],
  [
    "another into the base",
    async (world: World) => {
      await close(world);
      await open(world, "main");
    },
  ],
])("loses no work if somebody pushes and opens %s, so that our push is refused", async (_, act) => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.inBare("update-ref", "refs/heads/v1", "refs/heads/main");
  await world.run(world.project(addsPage("one")));
  const { onLine, wait } = whileWorking(world, async () => {
    await world.commitTo(BRANCH, { "docs/theirs.md": "mine\n" }, "By hand");
    await act(world);
  });
  const agent = ["sh", "-c", `${wait}echo two > docs/two.md; echo Add two`];
  await expect(world.run(world.project(agent), { ...FOLLOW_UP, onLine })).rejects.toThrow(TransientRunError);
  // The refused push left nothing behind that says otherwise.
  expect(await world.run(world.project(agent), FOLLOW_UP)).toMatchObject({ kind: "pull-request" });
  expect(await world.changed()).toEqual(["docs/one.md", "docs/theirs.md", "docs/two.md"]);
});

it("keeps a merged branch as it is for whoever opens a backport of it meanwhile", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.inBare("update-ref", "refs/heads/v1", "refs/heads/main");
  await world.run(world.project(addsPage("one")));
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  const merged = await world.inBare("rev-parse", BRANCH);
  const { onLine, wait } = whileWorking(world, () => open(world, "v1"));
  const agent = ["sh", "-c", `${wait}echo two > docs/two.md; echo Add two`];
  await expect(world.run(world.project(agent), { ...FOLLOW_UP, onLine })).rejects.toThrow(TransientRunError);
  expect(await world.inBare("rev-parse", BRANCH)).toBe(merged);
  expect(await world.run(world.project(agent), FOLLOW_UP)).toMatchObject({ pullRequest: { number: 3 } });
  expect(await world.inBare("rev-parse", `${BRANCH}^`)).toBe(merged);
});

it("counts a turn as pushed only if its commit is somewhere, whatever pull request is newer", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  world.api.fault = (request) => (request.startsWith("GET") ? { kind: "http", status: 503 } : undefined);
  await expect(world.run(world.project(addsPage("one")))).rejects.toThrow(TransientRunError);
  world.api.fault = undefined;
  await world.inBare("update-ref", `refs/heads/${BRANCH}`, "refs/heads/main");
  await world.commitTo(BRANCH, { "docs/theirs.md": "mine\n" }, "Something else");
  await open(world, "main");
  world.restart();
  const agent = inlineAgent(`fs.writeFileSync("docs/again.md", "x")`);
  expect(await world.run(world.project(agent))).toMatchObject({ pullRequest: { number: 1 } });
  expect(await world.changed()).toEqual(["docs/again.md", "docs/theirs.md"]);
});

async function open(world: World, base: string): Promise<void> {
  const pull = { title: "Theirs", body: "Mine", head: BRANCH, base, isDraft: false };
  const made = await world.codeHost.repository("acme", "docs").create(pull);
  expect(made.ok).toBe(true);
}
