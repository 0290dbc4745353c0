import fc from "fast-check";
import { expect, it } from "vitest";
import { changedLines, touchSameLines } from "../../../src/service/runner/publish/changed-lines.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";

const patchOf = (ranges: readonly { from: number; count: number }[]) =>
  ranges
    .map(
      ({ from, count }) => `@@ -${count === 0 ? from - 1 : from},${count} +1,1 @@ Heading\n+@@ -1,9 +1 @@\n`,
    )
    .join("");

const ranges = fc
  .array(fc.record({ gap: fc.integer({ min: 1, max: 8 }), count: fc.integer({ min: 0, max: 4 }) }), {
    maxLength: 6,
  })
  .map((parts) => {
    let at = 0;
    return parts.map(({ gap, count }) => {
      const from = at + gap;
      at = from + count;
      return { from, count };
    });
  });

it("finds changes that are at most three lines apart, whichever comes first", () => {
  fc.assert(
    fc.property(ranges, ranges, (one, other) => {
      const isNear = one.some((a) =>
        other.some((b) => b.from <= a.from + a.count + 3 && a.from <= b.from + b.count + 3),
      );
      const [patch, another] = [Buffer.from(patchOf(one)), Buffer.from(patchOf(other))];
      expect(touchSameLines({ one: patch, other: another })).toBe(isNear);
      expect(touchSameLines({ one: another, other: patch })).toBe(isNear);
      expect(changedLines(patchOf(one))).toEqual(one.map(({ from, count }) => ({ from, to: from + count })));
    }),
  );
});

const NUMBERED = Array.from({ length: 40 }, (_, at) => `${at + 1}\n`).join("");

type RunnerWorld = Awaited<ReturnType<typeof openRunnerWorld>>;

/** An agent that replaces one line of a page, or adds the page. */
const says = (page: string, line: number, words: string): [string, string, string] => [
  "sh",
  "-c",
  `f=docs/${page}.md; [ -e $f ] || seq 40 > $f; sed -i '${line}s/.*/${words}/' $f; echo Change ${page}`,
];

/** Of job 1, whose pull request the others are compared with. */
async function openFirst(world: RunnerWorld, line = 3) {
  const first = await world.run(world.project(says("one", line, "first")));
  if (first.kind !== "pull-request" || !first.pullRequest) throw new Error(JSON.stringify(first));
  const { url, number, headSha } = first.pullRequest;
  return { url, number, headSha };
}

it("tells of an open pull request that changes the same lines, in result, record and text", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const open = await openFirst(world);
  const gone = { url: `${open.url}9`, number: 9, headSha: "0".repeat(40) };
  const input = { jobId: "job2", openPulls: [gone, open] };
  const second = await world.run(world.project(says("one", 5, "second")), input);
  expect(second).toMatchObject({
    kind: "pull-request",
    pullRequest: { overlaps: [open.url] },
    notes: ["Overlaps acme/docs#1 (docs/one.md)."],
  });
  const bodyOf = (number: number) => world.pulls().find((pull) => pull.number === number)?.body ?? "";
  expect(bodyOf(2).split("\n")).toContain("Overlaps acme/docs#1 (`docs/one.md`).");
  const third = await world.run(world.project(says("two", 5, "third")), { ...input, jobId: "job3" });
  expect(third).toMatchObject({ kind: "pull-request", notes: [] });
  expect(third).not.toHaveProperty("pullRequest.overlaps");
  expect(bodyOf(3)).not.toContain("acme/docs#1");
});

it("tells in one line of pull requests that change the same page elsewhere", async () => {
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: { "docs/one.md": NUMBERED } });
  const open = await openFirst(world);
  const input = { jobId: "job2", openPulls: [open] };
  const second = await world.run(world.project(says("one", 30, "second")), input);
  expect(second).toMatchObject({ notes: ["Also changed in acme/docs#1 (docs/one.md)."] });
  expect(second).not.toHaveProperty("pullRequest.overlaps");
  expect(world.pulls()[1]?.body).toContain("Also changed in acme/docs#1 (`docs/one.md`).");
});

it("after a follow-up, the text names what the whole change overlaps then", async () => {
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files: { "docs/one.md": NUMBERED } });
  const open = await openFirst(world);
  const ask = (agent: ReturnType<typeof says>, earlierTurns: string[], openPulls = [open]) =>
    world.run(world.project(agent), {
      jobId: "job2",
      openPulls,
      earlierTurns: earlierTurns.map((summary) => ({ prompt: "Change it", summary })),
    });
  const body = () => world.pulls()[1]?.body ?? "";
  await ask(says("one", 4, "second"), []);
  // The first turn's lines are still in the branch.
  const still = await ask(says("two", 5, "third"), ["Change one"]);
  expect(still).toMatchObject({ pullRequest: { overlaps: [open.url] } });
  expect(body()).toContain("Overlaps acme/docs#1 (`docs/one.md`).");
  // The other one was merged or closed.
  await ask(says("two", 6, "fourth"), ["Change one", "Change two"], []);
  expect(body()).not.toContain("acme/docs#1");
});
