import { describe, expect, it } from "vitest";
import { render } from "../../../src/app/messages/render.ts";
import { makeJob, makeOutcome, makeTurn } from "../../support/builders.ts";
import { ANA, LINK, PR, TEAM, presentation, read, readOutcome, request, withPr, without } from "./reading.ts";
import type { Row } from "./reading.ts";

const CHECK = "Check for a new pull request before trying again.";
const FIX = "Contact your Docs Agent admin, then try again.";
const FIX_AND_WATCH = "Contact your Docs Agent admin, then press *Keep watching*.";
const ID = "ID: job-1";

const rows: Row[] = [
  {
    when: "the pull request is open",
    outcome: { kind: "pull-request", job: withPr },
    lines: [`✅ @Ana Your pull request is ready: ${LINK}`, "[View pull request]"],
  },
  {
    when: "a follow-up's pull request was there before, and nobody says what the follow-up did",
    outcome: { kind: "pull-request", job: withPr, prBefore: PR },
    lines: [`✅ @Ana The agent finished. ${LINK} may have new commits.`, "[View pull request]"],
  },
  {
    when: "a follow-up's pull request is another than the one before",
    outcome: { kind: "pull-request", job: withPr, prBefore: `${PR}0` },
    lines: [`✅ @Ana Your pull request is ready: ${LINK}`, "[View pull request]"],
  },
  {
    when: "the agent changed nothing",
    outcome: { kind: "no-changes", job: without },
    lines: ["➖ @Ana No changes made.", "Reply with @docs-agent and name the page.", "[Try again]"],
  },
  {
    when: "the job failed",
    outcome: { kind: "failed", job: without },
    lines: [
      "❌ @Ana The agent couldn't finish.",
      "If it keeps happening, give your Docs Agent admin this ID: job-1",
      "[Try again]",
    ],
  },
  {
    when: "the job failed after it opened a pull request",
    outcome: { kind: "failed", job: withPr },
    lines: [
      "❌ @Ana The agent couldn't finish.",
      `Check ${LINK} carefully before you merge it.`,
      ID,
      "[View pull request] [Try again]",
    ],
  },
  {
    when: "the job was archived",
    outcome: { kind: "archived", job: without },
    lines: ["🗄️ @Ana Your request was archived.", "Ask again if you still need it."],
  },
  {
    when: "the job was archived after it opened a pull request",
    outcome: { kind: "archived", job: withPr },
    lines: ["🗄️ @Ana Your request was archived.", `${LINK} is still there.`, "[View pull request]"],
  },
  {
    when: "the deadline passed",
    outcome: { kind: "expired", reason: "deadline", job: without },
    lines: [
      "⌛ @Ana Not done after 1 day, so I stopped watching.",
      "The agent may still finish.",
      ID,
      "[Keep watching]",
    ],
  },
  {
    when: "the job service took nothing until the deadline",
    outcome: { kind: "expired", reason: "never-started", job: null },
    lines: ["⌛ @Ana Not started: the agent was unavailable for 1 day.", "[Try again]"],
  },
  {
    when: "the job service no longer knows the job",
    outcome: { kind: "missing", job: without },
    lines: ["❓ @Ana The agent no longer has this request.", CHECK, ID, "[Try again]"],
  },
  {
    when: "the answer to the create was lost",
    outcome: { kind: "unknown", reason: "create-lost", job: null },
    lines: ["❓ @Ana I sent your request but got no answer, so it may be running.", CHECK, "[Try again]"],
  },
  {
    when: "the answer to the create cannot be read",
    outcome: { kind: "unknown", reason: "unreadable", job: null },
    lines: ["❓ @Ana I can't tell whether your request started.", CHECK, "[Try again]"],
  },
  {
    when: "what the job service says of the job cannot be read",
    outcome: { kind: "unknown", reason: "unreadable", job: without },
    lines: ["❓ @Ana I can't tell how your request ended.", FIX_AND_WATCH, ID, "[Keep watching]"],
  },
  {
    when: "the key is refused at the start",
    outcome: { kind: "rejected", reason: "key", job: null },
    lines: ["⛔ @Ana Docs Agent isn't set up correctly: its API key was refused.", FIX, "[Try again]"],
  },
  {
    when: "the key is refused while the job runs",
    outcome: { kind: "rejected", reason: "key", job: without },
    lines: [
      "⛔ @Ana Docs Agent isn't set up correctly: its API key was refused.",
      FIX_AND_WATCH,
      ID,
      "[Keep watching]",
    ],
  },
  {
    when: "the prompt is refused",
    outcome: { kind: "rejected", reason: "prompt", job: null, said: "too vague <!here>" },
    lines: ["⛔ @Ana The agent refused your request.", "too vague <!here>", "Reword or shorten it."],
  },
  {
    when: "the project is not known there",
    outcome: { kind: "rejected", reason: "project", job: null },
    lines: ["⛔ @Ana The project isn't set up correctly.", FIX, "[Try again]"],
  },
  {
    when: "the request is refused for another reason",
    outcome: { kind: "rejected", reason: "other", job: null },
    lines: ["⛔ @Ana The agent refused your request.", FIX, "[Try again]"],
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

describe("an outcome also says", () => {
  it("a pull request that is no link to trust, as text without a button", () => {
    const job = makeJob({ prLink: "http://github.com@evil.example/7" });
    const { lines, notification } = readOutcome(makeOutcome({ kind: "pull-request", job }));
    expect(lines).toEqual([
      "✅ @Ana Your pull request is ready.",
      "The pull request link doesn't look safe, so it isn't clickable: http://github.com@evil.example/7",
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
    const message = {
      kind: "outcome",
      turn: makeTurn({ request }),
      outcome,
      watch: 1,
      movedBecause: null,
    } as const;
    expect(render(message, several, TEAM).text).toContain("The “docs” project isn't set up correctly.");
  });

  it.each([
    ["Fix the docs", true],
    ["This page and/or that one is wrong", true],
    ["Fix the install page", false],
    ["docs/install.md is outdated", false],
    ["See https://docs.example.com/install", false],
  ])("how to go on where nothing was changed, if %j leaves the page open: %s", (instructions, isAsked) => {
    const turn = makeTurn({ request: { ...request, instructions } });
    const outcome = makeOutcome({ kind: "no-changes", job: without });
    const { lines } = read({ kind: "outcome", turn, outcome, watch: 1, movedBecause: null });
    const hint = isAsked ? ["Reply with @docs-agent and name the page."] : [];
    expect(lines).toEqual(["➖ @Ana No changes made.", ...hint, "[Try again]"]);
  });

  it("who stopped it, to whoever asked", () => {
    const outcome = makeOutcome({ kind: "failed", job: without, stoppedBy: "U0BEN" });
    const { sent } = readOutcome(outcome);
    expect(sent).toBe("⏹️ <@U0BEN> stopped the agent, <@U0ANA>.\nNo pull request was opened.");
  });

  it("no more than helps: in a direct message every reply reaches the app", () => {
    const turn = makeTurn({ request: { ...request, channelId: "D0ANA" } });
    const direct = { ...turn, delivery: { ...turn.delivery, channelId: "D0ANA" } };
    const outcome = makeOutcome({ kind: "no-changes", job: without });
    const { lines } = read({ kind: "outcome", turn: direct, outcome, watch: 1, movedBecause: null });
    expect(lines[1]).toBe("Reply and name the page.");
  });

  it.each([
    [
      "not_in_channel",
      "I'm not in #C0DOCS, so I'm replying here. To get replies there, type `/invite @docs-agent` in that channel.",
    ],
    ["is_archived", "#C0DOCS is archived, so I'm replying here."],
    ["thread_not_found", "The thread in #C0DOCS was deleted, so I'm replying here."],
    ["restricted_action", "I can't post in #C0DOCS, so I'm replying here."],
  ])("in a direct message, why it is there (%s) and what it is about", (away, why) => {
    const { lines } = readOutcome(makeOutcome({ kind: "pull-request", job: withPr }), away);
    expect(lines[0]).toBe(why);
    expect(lines[1]).toBe(`✅ @Ana Your pull request is ready: ${LINK}`);
    expect(lines).toContain("Fix the <install> command");
  });
});
