import type { KnownTurn } from "../../../src/app/rules/known-job.ts";
import { visibleText } from "../../../world/slack/index.ts";
import { readContent } from "../../../world/slack/web-api/chat.ts";
import type { Message } from "../../../src/app/rules/ports/notifier.ts";
import type { Outcome } from "../../../src/app/rules/turn/outcome.ts";
import { keptTurn } from "../../../src/app/rules/turn/reported-turn.ts";
import type { KeptTurn } from "../../../src/app/rules/turn/reported-turn.ts";
import { render } from "../../../src/app/messages/render.ts";
import { withoutStop } from "../../support/status-buttons.ts";
import { makeJob, makeReported, makeRequest, makeTurn } from "../../support/builders.ts";

export const ANA = "U0ANA";
export const PR = "https://github.com/acme/docs/pull/7";

export const TEAM = { botName: "docs-agent", teamUrl: "https://example.slack.com/" };
export const presentation = {
  asksForProject: false,
  isAskOnly: () => false,
  projects: ["docs"],
  watchedFor: "1 day",
  contact: "your Docs Agent admin",
  httpOrigins: [],
};
export const request = makeRequest({
  userId: ANA,
  channelId: "C0DOCS",
  instructions: "Fix the <install> command",
});

function nameOf(userId: string): string | undefined {
  return userId === ANA ? "Ana" : undefined;
}

/** What Ana reads in Slack, line by line, and what her notification says. */
export function read(message: Message): { lines: string[]; notification: string; sent: string } {
  const content = readContent(render(message, presentation, TEAM));
  return {
    lines: withoutStop(visibleText(content, nameOf)).split("\n"),
    notification: visibleText({ text: content.text }, nameOf),
    sent: content.text,
  };
}

export function readOutcome(outcome: Outcome, away: string | null = null) {
  return read({ kind: "outcome", turn: makeTurn({ request }), outcome, watch: 1, movedBecause: away });
}

export const withPr = makeJob({ prLink: PR });
export const without = makeJob();
/** A pull request as a service describes it. */
export const pull = makeReported().pullRequest!;
export const LINK = `acme/docs#7 (${PR})`;

/** What an outcome keeps of a service's report. */
export function makeResult(reported: Partial<KnownTurn> = {}): KeptTurn {
  const report = keptTurn(makeReported(reported));
  if (report === undefined) throw new Error("nothing is reported");
  return report;
}

/** What Ana reads of an outcome. */
export type Row = {
  when: string;
  outcome: Partial<Outcome>;
  /** All of it. */
  lines: string[];
};
