import { describe, expect, it } from "vitest";
import type { Outcome } from "../../../src/app/rules/turn/outcome.ts";
import type { Question } from "../../../src/app/rules/thread/question.ts";
import type { TurnStage } from "../../../src/app/rules/turn/turn.ts";
import { refusalText } from "../../../src/app/messages/refusal-message.ts";
import { makeJob, makeOutcome, makeQuoted, makeTurn } from "../../support/builders.ts";
import { ANA, LINK, read, request, makeResult, withPr, without } from "./reading.ts";

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
    [
      "limited",
      stateOf({ name: "accepted", waitingSince: 1, limitedUntil: Date.UTC(2026, 0, 5, 14, 4, 1) }),
      "⏳ The agent has reached its limit. Your request is saved and starts around 14:05 UTC.",
    ],
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
    ["a pull request", ended({ kind: "pull-request", job: withPr }), `✅ ${LINK}`],
    [
      "a pull request that is described",
      ended({ kind: "pull-request", job: withPr, told: makeResult() }),
      `✅ ${LINK}, 3 files, +12 −4`,
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
        told: makeResult({ outcome: "branch", branch: "fix-1", pullRequest: null }),
      }),
      "✅ Changes on branch fix-1",
    ],
    ["no changes", ended({ kind: "no-changes" }), "➖ No changes"],
    ["failed", ended({ kind: "failed" }), "❌ Couldn't finish"],
    ["canceled", ended({ kind: "failed", told: makeResult({ outcome: "cancelled" }) }), "⏹️ Stopped"],
    ["archived", ended({ kind: "archived" }), "🗄️ Archived"],
    ["expired", ended({ kind: "expired", reason: "deadline" }), "⌛ Not done after 1 day"],
    ["never started", ended({ kind: "expired", reason: "never-started" }), "⌛ Not started"],
    ["missing", ended({ kind: "missing" }), "❓ Result unknown"],
    ["rejected", ended({ kind: "rejected", reason: "key" }), "⛔ Refused"],
  ])("%s", (_, turn, state) => {
    const { lines, notification } = read({ kind: "status", turn, movedBecause: null });
    expect(lines).toEqual(["@Ana requested a docs change:", "Fix the <install> command", state]);
    // The text for notifications names a pull request without its address.
    expect(notification).toBe(`${lines.slice(0, 2).join(" ")}\n${state.replace(LINK, "acme/docs#7")}`);
  });

  it.each([
    ["mention", "@Ana requested a docs change:"],
    ["shortcut", "@Ana asked the agent to fix this."],
    ["try-again", "@Ana tried again:"],
  ] as const)("from a %s", (from, lead) => {
    const turn = makeTurn({ request: { ...request, from } });
    expect(read({ kind: "status", turn, movedBecause: null }).lines[0]).toBe(lead);
  });

  it("from a shortcut, without the form's own words: the thread shows the message that they point at", () => {
    const turn = makeTurn({
      request: { ...request, from: "shortcut", instructions: "Fix the problem this message describes." },
    });
    const { lines, notification } = read({ kind: "status", turn, movedBecause: null });
    expect(lines).toEqual(["@Ana asked the agent to fix this.", "⏳ Starting…"]);
    expect(notification).toBe(lines.join("\n"));
    expect(read({ kind: "status", turn, movedBecause: "is_archived" }).lines).toContain(
      "Fix the problem this message describes.",
    );
  });
});

describe("the status of a follow-up", () => {
  const asked = { ...request, from: "mention" as const, messageTs: "2.0", follows: { turnId: "command:1" } };
  const watching = { name: "watching", since: 1, troubleSince: null } as const;
  const followUp = makeTurn({ request: asked, stage: watching });

  it("is its state alone: the thread shows the request", () => {
    expect(read({ kind: "status", turn: followUp, movedBecause: null }).lines).toEqual([
      "🔧 Follow-up sent to the agent.",
    ]);
    const anew = {
      ...makeTurn({ request: { ...request, from: "mention", messageTs: "2.0" } }),
      isStartedAnew: true,
    };
    expect(read({ kind: "status", turn: anew, movedBecause: null }).lines).toEqual([
      "That request is closed, so I started a new one.",
      "⏳ Starting…",
    ]);
  });

  it("is all of it in a direct message, and below another request", () => {
    const away = read({ kind: "status", turn: followUp, movedBecause: "is_archived" }).lines;
    const lines = ["@Ana followed up:", "Fix the <install> command", "🔧 Follow-up sent to the agent."];
    expect(away.slice(1)).toEqual(["[View message]", ...lines]);
    const turn = makeTurn({ request });
    const both = read({ kind: "status", turn, followUps: [followUp], movedBecause: null }).lines;
    expect(both.slice(3)).toEqual(lines);
    expect(both[2]).toBe("⏳ Starting…");
  });
});

describe("a question of the agent's says afterwards who answered what, and what came of it:", () => {
  const question: Question = {
    id: "q-1",
    number: 1,
    text: "Which page?",
    choices: [{ id: "1", label: "Install" }],
    moreChoices: 0,
    allowsText: true,
  };
  const answer = { userId: ANA, choiceId: "1", words: "Install" };
  const linesOf = (over: Partial<Question>) =>
    read({
      kind: "question",
      turn: makeTurn({ request }),
      question: { ...question, ...over },
      movedBecause: null,
    });

  it.each<[Partial<Question>, string[]]>([
    [{ closed: "unanswered" }, ["The agent stopped waiting."]],
    [{ closed: "elsewhere" }, ["Answered outside Slack."]],
    [{ answer }, ["@Ana answered: Install"]],
    [{ answer: { ...answer, result: "taken" } }, ["@Ana answered: Install"]],
    [
      { answer: { ...answer, result: "late" } },
      ["@Ana answered: Install", "Too late: the agent has already moved on."],
    ],
    [
      { answer: { ...answer, result: "elsewhere" } },
      ["@Ana answered: Install", "Too late: the agent already got an answer outside Slack."],
    ],
    [
      { answer: { ...answer, result: "refused" } },
      [
        "@Ana answered: Install",
        "The agent didn't accept this answer. If it keeps happening, contact your Docs Agent admin.",
      ],
    ],
    [
      { answer: { ...answer, result: "unsent" } },
      ["@Ana answered: Install", "I couldn't reach the agent, so it didn't get this answer."],
    ],
    [
      { answer: { ...answer, result: "unsure" } },
      ["@Ana answered: Install", "I can't tell whether the agent got this answer."],
    ],
  ])("%o", (over, end) => {
    const { lines, notification } = linesOf(over);
    expect(lines).toEqual(["💬 The agent asked:", "Which page?", ...end]);
    expect(notification).toBe(["💬 The agent asked: Which page?", ...end].join("\n"));
  });

  it("or that it can't be answered here", () => {
    expect(linesOf({ choices: [], allowsText: false }).lines).toEqual([
      "💬 @Ana The agent asks:",
      "Which page?",
      "This question can't be answered in Slack. Contact your Docs Agent admin.",
    ]);
  });
});

describe("a list names a request by", () => {
  const url = "https://example.slack.com/archives/C0DOCS/p1";
  const DEFAULT = "Fix the problem this message describes.";
  const quoted = makeQuoted({
    segments: [
      { kind: "person", id: "U0BEN", label: "Ben" },
      { kind: "text", text: ": the <install> command\nis outdated" },
    ],
  });
  const rowOf = (over: Parameters<typeof makeTurn>[0]) => {
    const turns = [{ turn: makeTurn(over), url }];
    const flags = { from: 0, hasOlder: false, isPartial: false, isHiding: false, now: 61_000 };
    return read({ kind: "list", of: "person", turns, ...flags }).lines.slice(1);
  };

  it.each([
    ["what the person typed", { ...request, quoted }, "Fix the <install> command"],
    [
      "the message, where the form's own words say nothing without it",
      { ...request, quoted, instructions: DEFAULT },
      "“@Ben: the <install> command is outdated”",
    ],
    [
      "the beginning of a long one, cut after a word, and without marks of code",
      { ...request, instructions: `Say \`npm install acme\` where it says ${"so ".repeat(9)}and so on` },
      "Say npm install acme where it says so so so so so so so so …",
    ],
    ["the form's words, where the message has none", { ...request, instructions: DEFAULT }, DEFAULT],
  ])("%s", (_, asked, words) => {
    expect(rowOf({ request: asked })).toEqual([`${words} (${url}) · ⏳ Starting… · #C1 · 1 minute ago`]);
  });

  it("its state, and promises no reply where there is no thread", () => {
    const stage = { name: "watching" as const, since: 1, troubleSince: null };
    expect(rowOf({ request, stage })[0]).toContain(" · 🔧 The agent is working. · ");
  });

  it("its state, unless somebody has tried it again", () => {
    const stage = { name: "ended" as const, outcome: makeOutcome({ kind: "failed" }), at: 9 };
    expect(rowOf({ request, stage })[0]).toContain(" · ❌ Couldn't finish · ");
    const pressed = { 1: { action: "try-again" as const, userId: ANA } };
    expect(rowOf({ request, stage, pressed })[0]).toContain(" · 🔁 Tried again · ");
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

  it("say whose buttons they are, and how to ask for something of one's own", () => {
    expect(read({ kind: "not-allowed", requesterId: ANA }).lines).toEqual([
      "Only @Ana can do that. For your own request, use `@docs-agent new: …`.",
    ]);
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

  it.each([
    [false, "Sorry, I don't take requests in this channel. To have it added, contact your Docs Agent admin."],
    [
      true,
      "Sorry, I take direct messages only from people in certain channels. Contact your Docs Agent admin.",
    ],
  ])("in a form, don't call direct messages a channel: %s", (isDirect, said) => {
    expect(refusalText({ kind: "other-channel", isDirect, channels: ["C0DOCS"] })).toBe(said);
  });
});

describe("the notice that a request takes longer than usual", () => {
  const overdue = { afterMs: 25 * 60_000 + 12_000, usualMs: 45_000 };
  const turn = makeTurn({ request, stage: { name: "watching", since: 0, troubleSince: null } });
  const linesOf = (over: Partial<typeof turn>, muted: string[] = []) =>
    read({ kind: "overdue", turn: { ...turn, ...over }, overdue, movedBecause: null, muted }).lines;

  it("says afterwards only that it did", () => {
    const words = "Taking longer than usual: 25 min so far, usually 45 s.";
    expect(linesOf({})).toEqual([`⌛ @Ana ${words}`]);
    expect(linesOf({}, [ANA])).toEqual([`⌛ ${words}`]);
    expect(linesOf({ stop: { userId: ANA, at: 5 } })).toEqual([`⌛ @Ana ${words}`]);
    const ended = { name: "ended" as const, outcome: makeOutcome(), at: 5 };
    expect(linesOf({ stage: ended })).toEqual(["⌛ Took longer than usual (usually 45 s)."]);
  });
});
