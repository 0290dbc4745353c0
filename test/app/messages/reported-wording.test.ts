import { describe, expect, it } from "vitest";
import { render } from "../../../src/app/messages/render.ts";
import { makeJob, makeOutcome, makeTurn } from "../../support/builders.ts";
import {
  LINK,
  PR,
  TEAM,
  presentation,
  pull,
  readOutcome,
  request,
  makeResult,
  withPr,
  without,
} from "./reading.ts";
import type { Row } from "./reading.ts";

/** The same, where the service tells of its turns. */
const reportedRows: Row[] = [
  {
    when: "the pull request is open",
    outcome: { kind: "pull-request", job: withPr, told: makeResult() },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "Both pages name the right command now.",
      "3 files, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "the pages are named, each with its words, which aren't said again",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({
        summary:
          "Correct the install command\n\n- faq.md: the new name\n- docs/b.md: says so, too\n- Not the blog.",
        pullRequest: { ...pull, files: 12, pages: pages("the <!here> `new` name", null) },
      }),
    },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "docs/faq.md (+1 −0): the <!here> new name",
      "docs/b.md (new, +2)",
      "… and 10 more",
      "• docs/b.md: says so, too",
      "• Not the blog.",
      "12 files, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "a page is named, and something else about it isn't",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({
        summary:
          "Repair links\n\nChanged:\n- faq.md: intro.md → start.md\n\nNot changed:\n" +
          "- docs/faq.md: the link to README.md could mean two pages\n\nPlease check.",
        pullRequest: { ...pull, files: 1, pages: pages("intro.md → start.md") },
      }),
    },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "docs/faq.md: intro.md → start.md",
      "Repair links",
      "Not changed:",
      "• docs/faq.md: the link to README.md could mean two pages",
      "Please check.",
      "1 file, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "a single page is named, without the size, which is the change's",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({ summary: null, pullRequest: { ...pull, files: 1, pages: pages(null) } }),
    },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "docs/faq.md",
      "1 file, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "five pages are named, and the others counted",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({
        summary: null,
        pullRequest: { ...pull, files: 20, pages: pages(...Array.from({ length: 20 }, () => "links")) },
      }),
    },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "docs/faq.md (+1 −0): links",
      ...["b", "c", "d", "e"].map((name, at) => `docs/${name}.md (new, +${at + 2}): links`),
      "… and 15 more",
      "20 files, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "a follow-up updated the pull request, and its words have a title",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({ summary: "Use the new name\n\nThe old one is gone." }),
      prBefore: PR,
    },
    lines: [
      `✅ @Ana The agent updated ${LINK}:`,
      "Use the new name",
      "The old one is gone.",
      "3 files, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "a follow-up updated the pull request",
    outcome: { kind: "pull-request", job: withPr, told: makeResult(), prBefore: PR },
    lines: [
      `✅ @Ana The agent updated ${LINK}:`,
      "Correct the install command",
      "Both pages name the right command now.",
      "3 files, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "the agent says nothing, and the code host did not count",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({
        summary: "## Correct the install command\n",
        pullRequest: { ...pull, files: 1, additions: null },
      }),
    },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "1 file",
      "[View pull request]",
    ],
  },
  {
    when: "the agent changed nothing, and says why",
    outcome: {
      kind: "no-changes",
      job: without,
      told: makeResult({
        outcome: "no-changes",
        pullRequest: null,
        summary: "There is no page about refunds.\n\nWhich one do you mean?",
      }),
    },
    lines: [
      "➖ @Ana No changes made.",
      "There is no page about refunds.",
      "Which one do you mean?",
      "Reply with @docs-agent to answer.",
      "[Try again]",
    ],
  },
  {
    when: "the turn failed, and the service says why",
    outcome: {
      kind: "failed",
      job: without,
      told: makeResult({
        outcome: "failed",
        pullRequest: null,
        reason: "The agent exited with code 1.",
      }),
    },
    lines: [
      "❌ @Ana The agent couldn't finish.",
      "The agent exited with code 1.",
      "If it keeps happening, give your Docs Agent admin this ID: job-1",
      "[Try again]",
    ],
  },
  ...(["time limit", "budget"] as const).map((limit) => ({
    when: `the turn reached its ${limit}`,
    outcome: {
      kind: "failed" as const,
      job: without,
      told: makeResult({
        outcome: "failed",
        pullRequest: null,
        cause: limit === "budget" ? "budget" : "time-limit",
        reason: limit === "budget" ? "<!here> All is *used up*." : "The agent reached its 15-minute limit.",
      }),
    },
    lines:
      limit === "budget"
        ? ["❌ @Ana The agent reached its budget.", "<!here> All is *used up*.", "Ask for a smaller change."]
        : ["❌ @Ana The agent reached its 15-minute limit.", "Ask for a smaller change."],
  })),
  {
    when: "the turn was canceled",
    outcome: {
      kind: "failed",
      job: without,
      told: makeResult({ outcome: "cancelled", pullRequest: null, summary: null }),
    },
    lines: ["⏹️ @Ana The agent was stopped.", "No pull request was opened.", "[Try again]"],
  },
  {
    when: "the turn was canceled after it opened a pull request",
    outcome: { kind: "failed", job: withPr, told: makeResult({ outcome: "cancelled", summary: null }) },
    lines: [
      "⏹️ @Ana The agent was stopped.",
      `${LINK} has the work so far.`,
      "[View pull request] [Try again]",
    ],
  },
  {
    when: "the changes are on a branch, and there is no code host",
    outcome: {
      kind: "no-changes",
      job: without,
      told: makeResult({ outcome: "branch", pullRequest: null, branch: "docs-agent/job-1" }),
    },
    lines: [
      "✅ @Ana The changes are on branch:",
      "docs-agent/job-1",
      "Both pages name the right command now.",
      "Open a pull request from it to merge it.",
    ],
  },
  {
    when: "the agent answered a question",
    outcome: {
      kind: "no-changes",
      job: without,
      told: makeResult({
        outcome: "no-changes",
        pullRequest: null,
        answer:
          "# Yes\n\nThe CLI supports `--json`, see **docs/cli.md**:\n\n- since 2.0\n  ```sh\n  acme --json\n  ```\n" +
          "<!here> [Details](https://evil.example/a.md)",
      }),
    },
    lines: [
      "💬 @Ana",
      "Yes",
      "",
      "The CLI supports --json, see docs/cli.md:",
      "",
      "• since 2.0",
      "  acme --json",
      "<!here> [Details](https://evil.example/a.md)",
    ],
  },
  {
    when: "the agent answers with a question",
    outcome: {
      kind: "no-changes",
      job: without,
      told: makeResult({ outcome: "no-changes", pullRequest: null, answer: "Which page?" }),
    },
    lines: ["💬 @Ana", "Which page?", "Reply with @docs-agent to answer."],
  },
  {
    when: "checks failed, and the pull request is a draft",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({
        pullRequest: { ...pull, isDraft: true },
        checks: [
          failed("links", "docs/faq.md: no page <!here>.md", "docs/faq.md: no page b.md"),
          failed("vale", "docs/faq.md: Use “sign in”."),
          failed("docusaurus"),
          { name: "markdownlint", result: "passed", findings: [] },
          { name: "own", result: "unchanged", findings: [] },
          { name: "mint", result: "not-checked", findings: ["It isn't installed."] },
        ],
        claims: { total: 5, verified: 4 },
        notes: ["The reviewer sam couldn't be asked."],
      }),
    },
    lines: [
      "📝 @Ana The pull request is a draft: 4 new problems.",
      "Correct the install command",
      "links: 2 new problems, such as docs/faq.md: no page <!here>.md",
      "vale: docs/faq.md: Use “sign in”.",
      "docusaurus: 1 new problem",
      "Both pages name the right command now.",
      "3 files, +12 −4 · Nothing new (fails without the change, too): own · Not checked: mint · " +
        "Sources: 4 of 5 found",
      "The reviewer sam couldn't be asked.",
      "[View pull request]",
    ],
  },
  {
    when: "a follow-up updated a draft, and the settings want drafts",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({ pullRequest: { ...pull, isDraft: true }, summary: null }),
      prBefore: PR,
    },
    lines: [
      `📝 @Ana The agent updated ${LINK}. It's a draft.`,
      "Correct the install command",
      "3 files, +12 −4",
      "[View pull request]",
    ],
  },
  {
    when: "the pull request is a draft because the settings say so, and all checks passed",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: makeResult({
        summary: null,
        pullRequest: { ...pull, isDraft: true },
        checks: ["links", "vale"].map((name) => ({ name, result: "passed", findings: [] })),
        claims: { total: 0, verified: 0 },
      }),
    },
    lines: [
      "📝 @Ana Your draft pull request is ready:",
      "Correct the install command",
      "3 files, +12 −4 · Our checks passed: links, vale",
      "[View pull request]",
    ],
  },
];

/** The pages of a pull request with these words of the agent. */
function pages(...all: (string | null)[]): NonNullable<(typeof pull)["pages"]> {
  return all.map((words, at) => ({
    path: at === 0 ? "docs/faq.md" : `docs/${"abcdefghijklmnopqrstuvwxyz"[at] ?? ""}.md`,
    status: at === 0 ? "changed" : "added",
    additions: at + 1,
    deletions: 0,
    words,
  }));
}

function failed(name: string, ...findings: string[]) {
  return { name, result: "failed" as const, findings };
}

describe("where the job service tells of its turns, the thread says that, too:", () => {
  it.each(reportedRows)("$when", ({ outcome, lines }) => {
    const ended = readOutcome(makeOutcome(outcome));
    expect(ended.lines).toEqual(lines);
    const [first] = ended.notification.split("\n");
    const headline = lines[0]?.replace(LINK, "acme/docs#7");
    const { answer, pullRequest } = outcome.told ?? {};
    const goesOn = headline?.endsWith(":") === true || answer !== undefined || pullRequest?.isDraft === true;
    // An answer's Markdown stays as it was written.
    const next = answer?.split("\n")[0] ?? lines[1];
    expect(first).toBe(goesOn ? `${headline} ${next}` : headline);
    expect(ended.notification.endsWith(PR)).toBe(lines.at(-1)?.includes("[View pull request]") === true);
  });

  it("the summary is short: it ends with a sentence or a line, and the pull request has the rest", () => {
    const sentence = "The page named a command that was removed two years ago. ";
    const { lines } = readOutcome(
      makeOutcome({ kind: "pull-request", job: withPr, told: makeResult({ summary: sentence.repeat(60) }) }),
    );
    expect(lines[2]).toBe(`${sentence.repeat(6)}…`);
    const list = Array.from({ length: 40 }, (_, n) => `- page ${n}`).join("\n\n");
    const listed = readOutcome(
      makeOutcome({ kind: "pull-request", job: withPr, told: makeResult({ summary: list }) }),
    );
    expect(listed.lines.slice(2, 10)).toEqual([
      ...Array.from({ length: 7 }, (_, n) => `• page ${n}`),
      "• page 7 …",
    ]);
  });

  it("what anybody wrote is text: no markup, no mention, no link", () => {
    const evil = "<!channel> <@U0BEN> *<https://evil.example|x>*\u202e :tada:";
    const outcome = makeOutcome({
      kind: "pull-request",
      job: withPr,
      told: makeResult({ summary: evil, pullRequest: { ...pull, title: evil } }),
    });
    const message = {
      kind: "outcome",
      turn: makeTurn({ request }),
      outcome,
      watch: 1,
      movedBecause: null,
    } as const;
    const { blocks } = render(message, presentation, TEAM);
    const shown = "<!channel> <@U0BEN> *<https://evil.example|x>* :tada:";
    expect(blocks[1]).toEqual({
      type: "rich_text",
      elements: [
        { type: "rich_text_section", elements: [{ type: "text", text: shown, style: { bold: true } }] },
      ],
    });
  });

  it("a pull request of the turn's own goes before the job's", () => {
    const url = "https://github.com/acme/docs/pull/9";
    const job = makeJob({ prLink: PR });
    const { lines } = readOutcome(
      makeOutcome({ kind: "pull-request", job, told: makeResult({ pullRequest: { ...pull, url } }) }),
    );
    expect(lines).toContain("[View pull request]");
  });
});
