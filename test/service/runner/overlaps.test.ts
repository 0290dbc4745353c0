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

/** An agent that replaces one line of a page, or adds the page. */
const says = (page: string, line: number, words: string): [string, string, string] => [
  "sh",
  "-c",
  `f=docs/${page}.md; [ -e $f ] || seq 40 > $f; sed -i '${line}s/.*/${words}/' $f; echo Change ${page}`,
];

it("tells of an open pull request that changes the same lines, in the result and the record", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const first = await world.run(world.project(says("one", 3, "first")));
  if (first.kind !== "pull-request" || !first.pullRequest?.headSha) throw new Error(JSON.stringify(first));
  const { prLink: url, pullRequest } = first;
  const open = { url, number: 1, headSha: pullRequest.headSha ?? "" };
  const gone = { url: `${url}9`, number: 9, headSha: "0".repeat(40) };
  const input = { jobId: "job2", openPulls: [gone, open] };
  const second = await world.run(world.project(says("one", 5, "second")), input);
  expect(second).toMatchObject({
    kind: "pull-request",
    pullRequest: { overlaps: [url] },
    notes: ["Overlaps acme/docs#1 (docs/one.md)."],
  });
  const third = await world.run(world.project(says("two", 5, "third")), { ...input, jobId: "job3" });
  expect(third).toMatchObject({ kind: "pull-request", notes: [] });
  expect(third).not.toHaveProperty("pullRequest.overlaps");
});
