import { expect, it } from "vitest";
import type { Read } from "../../../src/app/rules/records.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import { acceptance } from "../../../src/app/rules/decisions/accept.ts";
import { makeJob, makeRequest, makeTurn } from "../../support/builders.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";

const { project } = makeRequest();
const deps = {
  clock: new ManualClock(),
  polling: { minMs: 1, maxMs: 2, deadlineMs: 3 },
  retentionMs: 4,
  projects: [project],
  followUps: "mention" as const,
  access: { askOnly: [] },
};

it.each([
  ["is no follow-up, too, where another event of it was the answer", "mention:1", "known"],
  ["is a follow-up where another message was the answer", "mention:2", "accepted"],
])("a message %s", (_, saidIn, expected) => {
  const question = { id: "q", number: 1, text: "Which?", choices: [], moreChoices: 0, allowsText: true };
  const answer = { userId: "U1", choiceId: null, words: "both", saidIn };
  const turn: Turn = makeTurn({ id: "asking", job: makeJob(), questions: [{ ...question, answer }] });
  const records: Record<string, unknown> = {
    "thread T1:C1:1.1": { version: 1, turnIds: [turn.id] },
    [`turn ${turn.id}`]: turn,
  };
  const read = ((kind: string, id: string) => records[`${kind} ${id}`]) as Read;
  const request = makeRequest({ id: "mention:1", from: "mention", threadTs: "1.1", messageTs: "1.2" });
  expect(acceptance(deps, read, request, "thread", []).value.kind).toBe(expected);
});
