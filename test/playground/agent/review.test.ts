// @module-tag all

import { expect, it } from "vitest";
import { withoutConflicts } from "../../../playground/agent/conflicts.ts";
import { readReview } from "../../../playground/agent/read-review.ts";
import { materialText } from "../../../src/service/runner/agents/brief.ts";
import { reviewMaterial } from "../../../src/service/runner/turn/reviews/review-material.ts";

const plain = (text: string) => text;
const said = (login: string, words: string) => ({ id: 1, login, isBot: false, words });

it("reads what the service quotes of reviews and checks", () => {
  const material = reviewMaterial(
    {
      threads: [
        {
          path: "docs/a.md",
          line: 3,
          hunk: "@@ -1,2 +1,3 @@\n one\n+priya wrote: two",
          comments: [said("priya", 'Replace "two" with "2".\n> As there.'), said("theo", "Yes.")],
        },
        { path: 'docs/"b".md', line: null, hunk: "", comments: [said("priya", "Why?")] },
      ],
      opinions: [said("priya", "Fix the FAQ, too.")],
      checks: [
        {
          name: "anchors",
          url: null,
          title: "docs/c.md: docs/a.md has no heading #two; docs/d.md: docs/a.md has no heading #three",
          summary: "",
          annotations: [],
        },
      ],
    },
    plain,
  );
  const { text, threads: comments } = material;
  const context = materialText({ material: { text, comments }, sandbox: { inside: { tmp: "/tmp/t" } } });
  expect(readReview(`What you are told before.\n\n${context}`)).toEqual({
    answersFile: "/tmp/t/answers.json",
    comments: [
      { path: "docs/a.md", words: 'Replace "two" with "2".\n> As there.\nYes.' },
      { path: 'docs/"b".md', words: "Why?" },
    ],
    opinions: ["Fix the FAQ, too."],
    brokenAnchors: [
      { path: "docs/c.md", page: "docs/a.md", anchor: "two" },
      { path: "docs/d.md", page: "docs/a.md", anchor: "three" },
    ],
  });
  expect(readReview("Earlier in this job you were asked the following.")).toBeNull();
});

const conflict = (ours: string, before: string, theirs: string) =>
  `# Page\n\n<<<<<<< ours\n${ours}||||||| base\n${before}=======\n${theirs}>>>>>>> main\n\nEnd\n`;

it.each([
  ["You receive it.\n", "You recieve it.\n", "You recieve all of it.\n", "You receive all of it.\n"],
  ["One\n", "Old\n", "Old\n", "One\n"],
  ["One more word\n", "One\n", "Two\n", "Two\n"],
])("keeps what the base has in a conflict, and changes the same words: %j", (ours, before, theirs, page) => {
  expect(withoutConflicts(conflict(ours, before, theirs))).toBe(`# Page\n\n${page}\nEnd\n`);
});
