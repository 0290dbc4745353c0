import { describe, expect, it } from "vitest";
import type { Message } from "../../src/core/notifier.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import type { TurnStage } from "../../src/core/turn.ts";
import { visibleText } from "../../emulators/slack/index.ts";
import { readContent } from "../../emulators/slack/web-api/chat.ts";
import { refusalText } from "../../src/replies/private-messages.ts";
import { render } from "../../src/replies/render.ts";
import { makeJob, makeOutcome, makeRequest, makeTurn } from "../support/builders.ts";

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
const started = "Repository: acme/docs Branch: docs-agent/job-1 Model: model-1 Took: 1 min 5 s Job: job-1";
const notStarted = "Took: 1 min 5 s";

type Row = {
  when: string;
  outcome: Partial<Outcome>;
  headline: string;
  link?: string;
  next: RegExp;
  facts: string;
  buttons?: string;
};

const rows: Row[] = [
  {
    when: "the pull request is open",
    outcome: { kind: "pull-request", job: withPr },
    headline: "✅ @Ana The pull request is ready for review.",
    link: PR,
    next: /^Review it and merge it/,
    facts: started,
    buttons: "[View pull request]",
  },
  {
    when: "the agent changed nothing",
    outcome: { kind: "no-changes", job: without },
    headline: "☑️ @Ana Nothing was changed.",
    next: /there is no pull request.*ask again and name the page/,
    facts: started,
  },
  {
    when: "the job failed",
    outcome: { kind: "failed", job: without },
    headline: "❌ @Ana The job failed.",
    next: /No pull request was opened. Try again; if it fails again, whoever runs the job service/,
    facts: started,
    buttons: "[Try again]",
  },
  {
    when: "the job failed after it opened a pull request",
    outcome: { kind: "failed", job: withPr },
    headline: "❌ @Ana The job failed.",
    link: PR,
    next: /already opened a pull request: check it before you merge it/,
    facts: started,
    buttons: "[View pull request] [Try again]",
  },
  {
    when: "the job was archived",
    outcome: { kind: "archived", job: without },
    headline: "🗄️ @Ana The job was archived.",
    next: /before a pull request was opened. Ask again if you still need the change/,
    facts: started,
  },
  {
    when: "the job was archived after it opened a pull request",
    outcome: { kind: "archived", job: withPr },
    headline: "🗄️ @Ana The job was archived.",
    link: PR,
    next: /Its pull request is there/,
    facts: started,
    buttons: "[View pull request]",
  },
  {
    when: "the deadline passed",
    outcome: { kind: "expired", reason: "deadline", job: without },
    headline: "⌛ @Ana The job is still not done after 1 day.",
    next: /stopped watching it. It may still be running. Keep watching to hear how it ends/,
    facts: started,
    buttons: "[Keep watching]",
  },
  {
    when: "the job service took nothing until the deadline",
    outcome: { kind: "expired", reason: "never-started", job: null },
    headline: "⌛ @Ana The job could not be started.",
    next: /took no requests for 1 day, .* nothing is running. Try again when it is back/,
    facts: notStarted,
    buttons: "[Try again]",
  },
  {
    when: "the job service no longer knows the job",
    outcome: { kind: "missing", job: without },
    headline: "❓ @Ana The job service no longer knows this job.",
    next: /the pull request is in the repository. Keep watching if the job may still be there, or try again to start/,
    facts: started,
    buttons: "[Keep watching] [Try again]",
  },
  {
    when: "the answer to the create was lost",
    outcome: { kind: "unknown", reason: "create-lost", job: null },
    headline: "❓ @Ana I cannot tell whether the job was started.",
    next: /its answer never arrived.*did not send it twice.*Look for a new pull request.*try again/,
    facts: notStarted,
    buttons: "[Try again]",
  },
  {
    when: "the answer to the create cannot be read",
    outcome: { kind: "unknown", reason: "unreadable", job: null },
    headline: "❓ @Ana I cannot tell whether the job was started.",
    next: /answered in a way I cannot read.*did not ask twice.*Look for a new pull request.*try again/,
    facts: notStarted,
    buttons: "[Try again]",
  },
  {
    when: "what the job service says of the job cannot be read",
    outcome: { kind: "unknown", reason: "unreadable", job: without },
    headline: "❓ @Ana I cannot tell how the job ended.",
    next: /may still be running. Tell whoever runs Docs Agent; keep watching once that is fixed/,
    facts: started,
    buttons: "[Keep watching]",
  },
  {
    when: "the key is refused at the start",
    outcome: { kind: "rejected", reason: "key", job: null },
    headline: "⛔ @Ana The job service refused this app's API key.",
    next: /check the key for this project. Nothing was started: try again once that is fixed/,
    facts: notStarted,
    buttons: "[Try again]",
  },
  {
    when: "the key is refused while the job runs",
    outcome: { kind: "rejected", reason: "key", job: without },
    headline: "⛔ @Ana The job service refused this app's API key.",
    next: /check the key for this project. The job may still be running: keep watching once that is fixed/,
    facts: started,
    buttons: "[Keep watching]",
  },
  {
    when: "the prompt is refused",
    outcome: { kind: "rejected", reason: "prompt", job: null },
    headline: "⛔ @Ana The job service refused this request.",
    next: /Nothing was started.*ask .*in other or fewer words/,
    facts: notStarted,
  },
  {
    when: "the project is not known there",
    outcome: { kind: "rejected", reason: "project", job: null },
    headline: "⛔ @Ana The job service does not know this project.",
    next: /check the project's id. Nothing was started: try again once that is fixed/,
    facts: notStarted,
    buttons: "[Try again]",
  },
  {
    when: "the request is refused for another reason",
    outcome: { kind: "rejected", reason: "other", job: null },
    headline: "⛔ @Ana The job service refused the request.",
    next: /check its address and settings. Nothing was started: try again once that is fixed/,
    facts: notStarted,
    buttons: "[Try again]",
  },
];

describe("when a turn has ended, the thread says what happened, what to do next, and offers it:", () => {
  it.each(rows)("$when", ({ outcome, headline, link, next, facts, buttons }) => {
    const { lines, notification, sent } = readOutcome(makeOutcome(outcome));
    const [detail, ...end] = lines.slice(link === undefined ? 1 : 2);
    expect(lines[0]).toBe(headline);
    if (link !== undefined) expect(lines[1]).toBe(`acme/docs#7 (${link})`);
    expect(detail).toMatch(next);
    expect(end).toEqual(buttons === undefined ? [facts] : [facts, buttons]);

    expect(sent).toContain(`<@${ANA}>`);
    expect(notification).toBe([headline, ...(link === undefined ? [] : [link]), detail].join(" "));
  });
});

describe("an outcome also says", () => {
  it("what the job service said, as a quotation", () => {
    const outcome = makeOutcome({ kind: "rejected", reason: "prompt", job: null, said: "too vague <!here>" });
    const { lines } = readOutcome(outcome);
    expect(lines.slice(2)).toEqual(["The job service said:", "too vague <!here>", notStarted]);
  });

  it("a pull request that is no link to trust, as text without a button", () => {
    const job = makeJob({ prLink: "http://github.com@evil.example/7" });
    const { lines, notification } = readOutcome(makeOutcome({ kind: "pull-request", job }));
    expect(lines.slice(2)).toEqual([
      "The job service gave this as the pull request, which is no link I can trust: http://github.com@evil.example/7",
      started,
    ]);
    expect(notification).not.toContain("evil.example");
  });

  it("every character of a link's address", () => {
    const url = "https://git.example.com/r?a=1&b=2&amp;c=&lt;";
    const { lines, notification } = readOutcome(
      makeOutcome({ kind: "pull-request", job: makeJob({ prLink: url }) }),
    );
    expect(lines[1]).toBe(`git.example.com (${url})`);
    expect(notification).toContain(` ${url} `);
  });

  it("only the facts it has", () => {
    const job = makeJob({ repository: "", ref: null, model: null });
    expect(readOutcome(makeOutcome({ kind: "no-changes", job })).lines.at(-1)).toBe(
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
    expect(lines[1]).toBe("✅ @Ana The pull request is ready for review.");
    expect(lines).toContain("Fix the <install> command");
  });
});

describe("the status message says who asked for what, and how it stands:", () => {
  const stateOf = (stage: TurnStage) => makeTurn({ request, stage });

  it.each([
    ["accepted", stateOf({ name: "accepted", waitingSince: null }), /^⏳ Starting a job…$/],
    [
      "waiting",
      stateOf({ name: "accepted", waitingSince: 1 }),
      /^⏳ .*not taking requests right now\. .*is kept and goes out as soon as it does\.$/,
    ],
    [
      "submitting",
      stateOf({ name: "submitting", waitingSince: null, isRepeat: false }),
      /^⏳ Starting a job…$/,
    ],
    [
      "submitting again",
      stateOf({ name: "submitting", waitingSince: 1, isRepeat: true }),
      /^⏳ .*not taking requests right now\./,
    ],
    [
      "watching",
      stateOf({ name: "watching", since: 1, troubleSince: null }),
      /^🔧 The agent is working on it\. The result arrives in this thread\.$/,
    ],
    [
      "in trouble",
      stateOf({ name: "watching", since: 1, troubleSince: 2 }),
      /^⚠️ The job service does not answer right now\. I keep watching; the result arrives/,
    ],
    [
      "ended",
      stateOf({ name: "ended", outcome: makeOutcome({ kind: "no-changes" }), at: 9 }),
      /^☑️ Nothing was changed\.$/,
    ],
  ])("%s", (_, turn, state) => {
    const { lines, notification } = read({ kind: "status", turn, away: null });
    expect(lines.slice(0, -1)).toEqual(["@Ana asked for a change to the docs:", "Fix the <install> command"]);
    expect(lines.at(-1)).toMatch(state);
    expect(notification).toBe(`${lines.slice(0, 2).join(" ")}\n${lines.at(-1)}`);
  });

  it.each([
    ["mention", "@Ana asked for a change to the docs:"],
    ["shortcut", "@Ana asked to fix the docs because of a message here:"],
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
