import { describe, expect, it } from "vitest";
import type { Message } from "../../src/core/notifier.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import type { ReportedTurn } from "../../src/core/job-report.ts";
import { turnReport } from "../../src/core/turn-report.ts";
import type { TurnReport } from "../../src/core/turn-report.ts";
import type { TurnStage } from "../../src/core/turn.ts";
import { visibleText } from "../../emulators/slack/index.ts";
import { readContent } from "../../emulators/slack/web-api/chat.ts";
import { refusalText } from "../../src/replies/private-messages.ts";
import { render } from "../../src/replies/render.ts";
import { makeJob, makeOutcome, makeReported, makeRequest, makeTurn } from "../support/builders.ts";

const ANA = "U0ANA";
const PR = "https://github.com/acme/docs/pull/7";
const presentation = { projects: ["docs"], watchedFor: "1 day", httpOrigins: [] };
const request = makeRequest({ userId: ANA, channelId: "C0DOCS", instructions: "Fix the <install> command" });

function nameOf(userId: string): string | undefined {
  return userId === ANA ? "Ana" : undefined;
}

/** What Ana reads in Slack, line by line, and what her notification says. */
function read(message: Message): { lines: string[]; notification: string; sent: string } {
  const content = readContent(render(message, presentation, "docs-agent"));
  return {
    lines: visibleText(content, nameOf).split("\n"),
    notification: visibleText({ text: content.text }, nameOf),
    sent: content.text,
  };
}

function readOutcome(outcome: Outcome, away: string | null = null) {
  return read({ kind: "outcome", turn: makeTurn({ request }), outcome, watch: 1, away });
}

const withPr = makeJob({ prLink: PR });
const without = makeJob();
const pull = makeReported().pullRequest!;
const started = "Repository: acme/docs Base branch: main Model: model-1 Took: 1 min 5 s Job: job-1";
const onBranch = started.replace("main", "main Branch: docs-agent/job-1");
const notStarted = "Took: 1 min 5 s";
const LINK = `acme/docs#7 (${PR})`;
const CHECK = "Check for a new pull request before trying again.";
const FIX = "Contact your Docs Agent admin, then try again.";
const FIX_AND_WATCH = "Contact your Docs Agent admin, then keep watching.";

/** What an outcome keeps of what a service told. */
function told(reported: Partial<ReportedTurn> = {}): TurnReport {
  const report = turnReport(makeReported(reported));
  if (report === undefined) throw new Error("nothing is told");
  return report;
}

type Row = {
  when: string;
  outcome: Partial<Outcome>;
  /** All that Ana reads. */
  lines: string[];
};

const rows: Row[] = [
  {
    when: "the pull request is open",
    outcome: { kind: "pull-request", job: withPr },
    lines: [`✅ @Ana Your pull request is ready: ${LINK}`, started, "[View pull request]"],
  },
  {
    when: "the agent changed nothing",
    outcome: { kind: "no-changes", job: without },
    lines: ["➖ @Ana No changes made.", "Reply with @docs-agent and name the page.", started, "[Try again]"],
  },
  {
    when: "the job failed",
    outcome: { kind: "failed", job: without },
    lines: [
      "❌ @Ana The agent couldn't finish.",
      "If it keeps happening, contact your Docs Agent admin.",
      started,
      "[Try again]",
    ],
  },
  {
    when: "the job failed after it opened a pull request",
    outcome: { kind: "failed", job: withPr },
    lines: [
      "❌ @Ana The agent couldn't finish.",
      `${LINK} is already open. Check it carefully before you merge.`,
      started,
      "[View pull request] [Try again]",
    ],
  },
  {
    when: "the job was archived",
    outcome: { kind: "archived", job: without },
    lines: ["🗄️ @Ana Your request was archived.", "Ask again if you still need it.", started],
  },
  {
    when: "the job was archived after it opened a pull request",
    outcome: { kind: "archived", job: withPr },
    lines: ["🗄️ @Ana Your request was archived.", `${LINK} is still there.`, started, "[View pull request]"],
  },
  {
    when: "the deadline passed",
    outcome: { kind: "expired", reason: "deadline", job: without },
    lines: [
      "⌛ @Ana Not done after 1 day, so I stopped watching.",
      "The agent may still finish.",
      started,
      "[Keep watching]",
    ],
  },
  {
    when: "the job service took nothing until the deadline",
    outcome: { kind: "expired", reason: "never-started", job: null },
    lines: ["⌛ @Ana Not started: the agent was unavailable for 1 day.", notStarted, "[Try again]"],
  },
  {
    when: "the job service no longer knows the job",
    outcome: { kind: "missing", job: without },
    lines: ["❓ @Ana The agent no longer has this request.", CHECK, started, "[Keep watching] [Try again]"],
  },
  {
    when: "the answer to the create was lost",
    outcome: { kind: "unknown", reason: "create-lost", job: null },
    lines: [
      "❓ @Ana I sent your request but got no answer, so it may be running.",
      CHECK,
      notStarted,
      "[Try again]",
    ],
  },
  {
    when: "the answer to the create cannot be read",
    outcome: { kind: "unknown", reason: "unreadable", job: null },
    lines: ["❓ @Ana I can't tell whether your request started.", CHECK, notStarted, "[Try again]"],
  },
  {
    when: "what the job service says of the job cannot be read",
    outcome: { kind: "unknown", reason: "unreadable", job: without },
    lines: ["❓ @Ana I can't tell how your request ended.", FIX_AND_WATCH, started, "[Keep watching]"],
  },
  {
    when: "the key is refused at the start",
    outcome: { kind: "rejected", reason: "key", job: null },
    lines: ["⛔ @Ana The agent refused my API key.", FIX, notStarted, "[Try again]"],
  },
  {
    when: "the key is refused while the job runs",
    outcome: { kind: "rejected", reason: "key", job: without },
    lines: ["⛔ @Ana The agent refused my API key.", FIX_AND_WATCH, started, "[Keep watching]"],
  },
  {
    when: "the prompt is refused",
    outcome: { kind: "rejected", reason: "prompt", job: null, said: "too vague <!here>" },
    lines: [
      "⛔ @Ana The agent refused your request.",
      "too vague <!here>",
      "Reword or shorten it.",
      notStarted,
    ],
  },
  {
    when: "the project is not known there",
    outcome: { kind: "rejected", reason: "project", job: null },
    lines: ["⛔ @Ana The project isn't set up correctly.", FIX, notStarted, "[Try again]"],
  },
  {
    when: "the request is refused for another reason",
    outcome: { kind: "rejected", reason: "other", job: null },
    lines: ["⛔ @Ana The agent refused your request.", FIX, notStarted, "[Try again]"],
  },
];

/** The same, where the service tells of its turns. */
const toldRows: Row[] = [
  {
    when: "the pull request is open",
    outcome: { kind: "pull-request", job: withPr, told: told() },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      "Both pages name the right command now.",
      `${LINK}, 3 files, +12 −4`,
      onBranch,
      "[View pull request]",
    ],
  },
  {
    when: "the agent says nothing, and the code host did not count",
    outcome: {
      kind: "pull-request",
      job: withPr,
      told: told({
        summary: "## Correct the install command\n",
        pullRequest: { ...pull, files: 1, additions: null },
      }),
    },
    lines: [
      "✅ @Ana Your pull request is ready:",
      "Correct the install command",
      `${LINK}, 1 file`,
      onBranch,
      "[View pull request]",
    ],
  },
  {
    when: "the agent changed nothing, and says why",
    outcome: {
      kind: "no-changes",
      job: without,
      told: told({
        outcome: "no-changes",
        pullRequest: null,
        summary: "There is no page about refunds.\n\nWhich one do you mean?",
      }),
    },
    lines: [
      "➖ @Ana No changes made.",
      "There is no page about refunds.",
      "Which one do you mean?",
      "Reply with @docs-agent and name the page.",
      started,
      "[Try again]",
    ],
  },
  {
    when: "the turn failed, and the service says why",
    outcome: {
      kind: "failed",
      job: without,
      told: told({
        outcome: "failed",
        pullRequest: null,
        reason: "The turn reached its budget of 200,000 tokens.",
      }),
    },
    lines: [
      "❌ @Ana The agent couldn't finish.",
      "The turn reached its budget of 200,000 tokens.",
      "If it keeps happening, contact your Docs Agent admin.",
      started,
      "[Try again]",
    ],
  },
  {
    when: "the turn was canceled",
    outcome: {
      kind: "failed",
      job: without,
      told: told({ outcome: "cancelled", pullRequest: null, summary: null }),
    },
    lines: ["⏹️ @Ana The agent was stopped.", "No pull request was opened.", started, "[Try again]"],
  },
  {
    when: "the turn was canceled after it opened a pull request",
    outcome: { kind: "failed", job: withPr, told: told({ outcome: "cancelled", summary: null }) },
    lines: [
      "⏹️ @Ana The agent was stopped.",
      `${LINK} has the work so far.`,
      onBranch,
      "[View pull request] [Try again]",
    ],
  },
  {
    when: "the changes are on a branch, and there is no code host",
    outcome: {
      kind: "no-changes",
      job: without,
      told: told({ outcome: "branch", pullRequest: null, branch: "docs-agent/job-1" }),
    },
    lines: [
      "✅ @Ana The changes are on branch:",
      "docs-agent/job-1",
      "Both pages name the right command now.",
      "Open a pull request from it to merge it.",
      started,
    ],
  },
];

describe("when a turn has ended, the thread says what happened, what to do next, and offers it:", () => {
  it.each(rows)("$when", ({ outcome, lines }) => {
    const ended = readOutcome(makeOutcome(outcome));
    expect(ended.lines).toEqual(lines);
    expect(ended.sent).toContain(`<@${ANA}>`);
    // The first line is for the lock screen: no address.
    expect(ended.notification.split("\n")[0]).toBe(lines[0]?.replace(LINK, "acme/docs#7"));
  });
});

describe("where the job service tells of its turns, the thread says that, too:", () => {
  it.each(toldRows)("$when", ({ outcome, lines }) => {
    const ended = readOutcome(makeOutcome(outcome));
    expect(ended.lines).toEqual(lines);
    const [first] = ended.notification.split("\n");
    expect(first).toBe(lines[0]?.endsWith(":") === true ? `${lines[0]} ${lines[1]}` : lines[0]);
    expect(ended.notification.endsWith(PR)).toBe(lines.at(-1)?.includes("[View pull request]") === true);
  });

  it("the summary is short: it ends with a sentence or a line, and the pull request has the rest", () => {
    const sentence = "The page named a command that was removed two years ago. ";
    const { lines } = readOutcome(
      makeOutcome({ kind: "pull-request", job: withPr, told: told({ summary: sentence.repeat(60) }) }),
    );
    expect(lines[2]).toBe(`${sentence.repeat(6)}…`);
    const list = Array.from({ length: 40 }, (_, n) => `- page ${n}`).join("\n\n");
    const listed = readOutcome(
      makeOutcome({ kind: "pull-request", job: withPr, told: told({ summary: list }) }),
    );
    expect(listed.lines.slice(2, 10)).toEqual([
      ...Array.from({ length: 7 }, (_, n) => `- page ${n}`),
      "- page 7 …",
    ]);
  });

  it("what anybody wrote is text: no markup, no mention, no link", () => {
    const evil = "<!channel> <@U0BEN> *<https://evil.example|x>*\u202e :tada:";
    const outcome = makeOutcome({
      kind: "pull-request",
      job: withPr,
      told: told({ summary: evil, pullRequest: { ...pull, title: evil } }),
    });
    const message = { kind: "outcome", turn: makeTurn({ request }), outcome, watch: 1, away: null } as const;
    const { blocks } = render(message, presentation, "docs-agent");
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
      makeOutcome({ kind: "pull-request", job, told: told({ pullRequest: { ...pull, url } }) }),
    );
    expect(lines).toContain(`acme/docs#9 (${url}), 3 files, +12 −4`);
  });
});

describe("an outcome also says", () => {
  it("a pull request that is no link to trust, as text without a button", () => {
    const job = makeJob({ prLink: "http://github.com@evil.example/7" });
    const { lines, notification } = readOutcome(makeOutcome({ kind: "pull-request", job }));
    expect(lines).toEqual([
      "✅ @Ana Your pull request is ready.",
      "The pull request link doesn't look safe, so it isn't clickable: http://github.com@evil.example/7",
      started,
    ]);
    expect(notification).not.toContain("evil.example");
  });

  it("every character of a link's address", () => {
    const url = "https://git.example.com/r?a=1&b=2&amp;c=&lt;";
    const { lines, notification } = readOutcome(
      makeOutcome({ kind: "pull-request", job: makeJob({ prLink: url }) }),
    );
    expect(lines[0]).toBe(`✅ @Ana Your pull request is ready: git.example.com (${url})`);
    expect(notification.endsWith(`\n${url}`)).toBe(true);
  });

  it("which project it is about, where there are several", () => {
    const several = { ...presentation, projects: ["docs", "api"] };
    const outcome = makeOutcome({ kind: "rejected", reason: "project", job: null });
    const message = { kind: "outcome", turn: makeTurn({ request }), outcome, watch: 1, away: null } as const;
    expect(render(message, several, "docs-agent").text).toContain("The project docs isn't set up correctly.");
  });

  it("no more than helps: in a direct message a mention reaches nobody", () => {
    const turn = makeTurn({ request: { ...request, channelId: "D0ANA" } });
    const direct = { ...turn, delivery: { ...turn.delivery, channelId: "D0ANA" } };
    const outcome = makeOutcome({ kind: "no-changes", job: without });
    const { lines } = read({ kind: "outcome", turn: direct, outcome, watch: 1, away: null });
    expect(lines[1]).toBe("Ask again and name the page.");
  });

  it("only the facts it has", () => {
    const job = makeJob({ repository: "", ref: null, model: null });
    expect(readOutcome(makeOutcome({ kind: "archived", job })).lines.at(-1)).toBe(
      "Took: 1 min 5 s Job: job-1",
    );
  });

  it.each([
    [
      "not_in_channel",
      "I am not in #C0DOCS, so I report here. To have me report there, type `/invite @docs-agent` in #C0DOCS.",
    ],
    ["is_archived", "I cannot post in #C0DOCS any more because it is archived, so I report here."],
    ["thread_not_found", "The thread in #C0DOCS is gone, so I report here."],
    ["restricted_action", "Slack does not let me post in #C0DOCS, so I report here."],
  ])("in a direct message, why it is there (%s) and what it is about", (away, why) => {
    const { lines } = readOutcome(makeOutcome({ kind: "pull-request", job: withPr }), away);
    expect(lines[0]).toBe(why);
    expect(lines[1]).toBe(`✅ @Ana Your pull request is ready: ${LINK}`);
    expect(lines).toContain("Fix the <install> command");
  });
});

describe("the status message says who asked for what, and how it stands:", () => {
  const stateOf = (stage: TurnStage) => makeTurn({ request, stage });

  const watching = (progress?: { isWaiting: boolean; step: string | null }) =>
    stateOf({
      name: "watching",
      since: 1,
      troubleSince: null,
      ...(progress === undefined ? {} : { progress }),
    });
  const ended = (outcome: Partial<Outcome>) =>
    stateOf({ name: "ended", outcome: makeOutcome(outcome), at: 9 });
  const WORKING = "🔧 The agent is working. I'll reply here when it's done.";
  const UNAVAILABLE = "⏳ The agent is unavailable. Your request is saved and starts when it's back.";

  it.each([
    ["accepted", stateOf({ name: "accepted", waitingSince: null }), "⏳ Starting…"],
    ["waiting", stateOf({ name: "accepted", waitingSince: 1 }), UNAVAILABLE],
    ["submitting", stateOf({ name: "submitting", waitingSince: null, isRepeat: false }), "⏳ Starting…"],
    ["submitting again", stateOf({ name: "submitting", waitingSince: 1, isRepeat: true }), UNAVAILABLE],
    ["watching", watching(), WORKING],
    ["not begun", watching({ isWaiting: true, step: null }), "⏳ Starting…"],
    ["begun", watching({ isWaiting: false, step: null }), WORKING],
    ["at a step", watching({ isWaiting: false, step: "Edit <b>" }), "🔧 Edit <b>"],
    [
      "in trouble",
      stateOf({ name: "watching", since: 1, troubleSince: 2, progress: { isWaiting: false, step: "Edit" } }),
      "⚠️ I can't reach the agent right now. I'll keep trying.",
    ],
    ["a pull request", ended({ kind: "pull-request", job: withPr }), "✅ acme/docs#7"],
    [
      "a pull request that is described",
      ended({ kind: "pull-request", job: withPr, told: told() }),
      "✅ acme/docs#7 Correct the install command, 3 files, +12 −4",
    ],
    [
      "a pull request without a link to trust",
      ended({ kind: "pull-request", job: makeJob({ prLink: "http://evil.example" }) }),
      "✅ Pull request ready",
    ],
    [
      "a branch",
      ended({
        kind: "no-changes",
        job: without,
        told: told({ outcome: "branch", branch: "fix-1", pullRequest: null }),
      }),
      "✅ Changes on branch fix-1",
    ],
    ["no changes", ended({ kind: "no-changes" }), "➖ No changes"],
    ["failed", ended({ kind: "failed" }), "❌ Couldn't finish"],
    ["canceled", ended({ kind: "failed", told: told({ outcome: "cancelled" }) }), "⏹️ Stopped"],
    ["archived", ended({ kind: "archived" }), "🗄️ Archived"],
    ["expired", ended({ kind: "expired", reason: "deadline" }), "⌛ Not done after 1 day"],
    ["never started", ended({ kind: "expired", reason: "never-started" }), "⌛ Not started"],
    ["missing", ended({ kind: "missing" }), "❓ Result unknown"],
    ["rejected", ended({ kind: "rejected", reason: "key" }), "⛔ Refused"],
  ])("%s", (_, turn, state) => {
    const { lines, notification } = read({ kind: "status", turn, away: null });
    expect(lines).toEqual(["@Ana requested a docs change:", "Fix the <install> command", state]);
    expect(notification).toBe(`${lines.slice(0, 2).join(" ")}\n${state}`);
  });

  it.each([
    ["mention", "@Ana requested a docs change:"],
    ["shortcut", "@Ana asked the agent to fix this."],
    ["try-again", "@Ana tried again:"],
  ] as const)("from a %s", (from, lead) => {
    const turn = makeTurn({ request: { ...request, from } });
    expect(read({ kind: "status", turn, away: null }).lines[0]).toBe(lead);
  });
});

describe("private messages", () => {
  const againAtMs = Date.UTC(2026, 0, 5, 14, 4, 1);

  it("say that a request is safe which nothing is to be seen of yet", () => {
    const { lines, notification } = read({ kind: "kept" });
    expect(lines).toEqual([
      "Got it. Your request is saved, but Slack won't let me post yet. No need to resend.",
    ]);
    expect(notification).toBe(lines[0]);
  });

  it.each([
    ["person", 20, "You've reached the limit of 20 requests an hour."],
    ["person", 1, "You've reached the limit of 1 request an hour."],
    ["channel", 1200, "This channel has reached the limit of 1,200 requests an hour."],
  ] as const)("say when there were too many requests: %s, %i", (scope, limit, said) => {
    const refusal = { kind: "too-many", scope, limit, againAtMs } as const;
    const { lines, sent } = read({ kind: "refused", refusal });
    expect(lines).toEqual([`${said} Try again at 14:05 UTC.`]);
    // Each reader sees the time in their own zone.
    expect(sent).toBe(`${said} Try again at <!date^${againAtMs / 1000 + 59}^{time}|14:05 UTC>.`);
    expect(refusalText(refusal)).toBe(`${said} Try again at 14:05 UTC.`);
  });
});
