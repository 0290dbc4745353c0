import { expect, it } from "vitest";
import { above } from "../../support/pull-request-texts.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { shellCheck } from "../../support/shell-check.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

const TAKEN_BACK = "Nothing is left to merge: the last follow-up took everything back.";
const ADD = ["sh", "-c", "echo one > docs/one.md; echo Add one; echo; echo It was missing."];
const REMOVE = ["sh", "-c", "rm docs/one.md; echo Remove one again"];
const ADD_TWO = ["sh", "-c", "echo two > docs/two.md; echo Add two"];
const ADDED = { prompt: "Add one", summary: "Add one\n\nIt was missing." };
const REMOVED = { prompt: "Take it back", summary: "Remove one again" };
const FOLLOW_UP = { prompt: "Take it back", earlierTurns: [ADDED] };

async function opened(): Promise<World> {
  const world = await openRunnerWorld(LOGIC_ONLY);
  await world.run(world.project(ADD), { prompt: "Add one" });
  return world;
}

it("says on top of an open pull request that a follow-up took everything back, until one changes something", async () => {
  await using world = await opened();
  const verify = [shellCheck("exit 1", { name: "links" })];
  const back = await world.run(world.project(REMOVE, { verify }), FOLLOW_UP);
  expect(back).toMatchObject({
    kind: "pull-request",
    checks: [],
    pullRequest: { number: 1, state: "open", isEmpty: true },
  });
  const [empty] = world.pulls();
  expect(empty).toMatchObject({ state: "open", title: "Nothing left to merge" });
  expect(above(empty?.body)).toBe(`<!-- docs-agent:start -->\n\n${TAKEN_BACK}\n\n`);

  const again = { prompt: "Add two", earlierTurns: [ADDED, REMOVED] };
  const result = await world.run(world.project(ADD_TWO), again);
  expect(result).toMatchObject({ pullRequest: { number: 1, state: "open" } });
  expect(result).not.toHaveProperty("pullRequest.isEmpty");
  const [full] = world.pulls();
  expect(full?.title).toBe("Add two");
  expect(above(full?.body)).toContain("`docs/two.md` (new, +1)");
  expect(above(full?.body)).not.toMatch(/Nothing is left|missing/);

  const last = [ADDED, REMOVED, { prompt: "Add two", summary: "Add two" }].map((turn) => ({
    ...turn,
    outcome: "pull-request" as const,
  }));
  const removeTwo = ["sh", "-c", "rm docs/two.md; echo Remove two again"];
  await world.run(world.project(removeTwo), { prompt: "Take that back", earlierTurns: last });
  expect(world.pulls()[0]?.title).toBe("Nothing left to merge");
});

it(
  "leaves the title alone that a person gave a pull request which then changes nothing",
  { tags: "all" },
  async () => {
    await using world = await opened();
    await world.asPerson("PATCH", "1", { title: "Our own title" });
    await world.run(world.project(REMOVE), FOLLOW_UP);
    expect(world.pulls()[0]).toMatchObject({
      title: "Our own title",
      body: expect.stringContaining(TAKEN_BACK),
    });
  },
);

it(
  "opens no pull request without a change, and asks nothing, if it was closed meanwhile",
  { tags: "all" },
  async () => {
    await using world = await opened();
    const input = { ...FOLLOW_UP, acceptedAt: Date.now() };
    await world.asPerson("PATCH", "1", { state: "closed" });
    const result = await world.run(world.project(REMOVE), input);
    expect(result).toMatchObject({ kind: "no-changes", reason: TAKEN_BACK, summary: "Remove one again" });
    expect(world.pulls()).toHaveLength(1);
    // Nothing of it comes back with the next one.
    const next = { prompt: "Add two", earlierTurns: [ADDED, { ...REMOVED, outcome: "no-changes" as const }] };
    expect(await world.run(world.project(ADD_TWO), next)).toMatchObject({ pullRequest: { number: 2 } });
    expect(await world.changed()).toEqual(["docs/two.md"]);
    expect(world.pulls().at(-1)?.title).toBe("Add two");
  },
);

it("says it of a branch without a code host, too", { tags: "all" }, async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = (command: string[]) => world.project(command, { codeHost: { kind: "none" } });
  expect(await world.run(project(ADD))).toMatchObject({ kind: "branch" });
  expect(await world.run(project(REMOVE), FOLLOW_UP)).toMatchObject({
    kind: "no-changes",
    reason: TAKEN_BACK,
  });
});

it.each([
  ["open", "pull-request", "Nothing is left to merge: the base branch has the same changes already."],
  ["closed", "no-changes", "It was missing."],
] as const)(
  "knows that the base branch has the same change by now, with the pull request %s",
  { tags: "all" },
  async (state, kind, text) => {
    await using world = await opened();
    await world.commitTo(
      "main",
      { "docs/one.md": "one\ntwo\n", "docs/more.md": "More\n" },
      "The same, and more",
    );
    await world.asPerson("PATCH", "1", { state });
    const more = ["sh", "-c", "echo two >> docs/one.md; echo Add a line"];
    const result = await world.run(world.project(more), { prompt: "Add a line", earlierTurns: [ADDED] });
    expect(result).toMatchObject({
      kind,
      ...(kind === "no-changes" && { reason: "The changes are in main already." }),
    });
    expect(world.pulls()).toHaveLength(1);
    expect(world.pulls()[0]?.body).toContain(text);
  },
);

it("closes a pull request that changes nothing, once, and no other", async () => {
  await using world = await opened();
  expect(await world.close(1)).toBe("changed");
  await world.run(world.project(REMOVE), FOLLOW_UP);
  expect(await world.close(2)).toBe("missing");
  await world.commitTo("docs-agent/job1", { "docs/theirs.md": "Theirs\n" }, "Their own page");
  expect(await world.close(1)).toBe("changed");
  await world.inBare("update-ref", "refs/heads/docs-agent/job1", "docs-agent/job1^");
  expect(world.pulls()[0]?.state).toBe("open");
  expect([await world.close(1), await world.close(1)]).toEqual(["closed", "closed"]);
  expect(world.pulls()[0]?.state).toBe("closed");
  // The code host's clock knows whole seconds. Whoever asks for more right after it gets another one.
  const next = { prompt: "Add two", earlierTurns: [ADDED, REMOVED], acceptedAt: Date.now() };
  expect(await world.run(world.project(ADD_TWO), next)).toMatchObject({ pullRequest: { number: 2 } });
});

it("opens a pull request again to which somebody pushed while it was closed", { tags: "all" }, async () => {
  await using world = await opened();
  await world.run(world.project(REMOVE), FOLLOW_UP);
  let isPushed = false;
  world.api.before = async (request) => {
    if (isPushed || !request.startsWith("PATCH")) return;
    isPushed = true;
    await world.commitTo("docs-agent/job1", { "docs/theirs.md": "Theirs\n" }, "Their own page");
  };
  expect(await world.close(1)).toBe("changed");
  expect(world.pulls()[0]?.state).toBe("open");
});

it("closes nothing that was merged meanwhile", { tags: "all" }, async () => {
  await using world = await opened();
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  expect(await world.close(1)).toBe("merged");
});
