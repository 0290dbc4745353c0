// @module-tag all

import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { Ledger, nextTryOf } from "./ledger.ts";

const TURN = "command:1.2.3";
const MARKER = "[round-1-1]";

function post(name: string, turnId = TURN): SlackMessage {
  const metadata = { event_type: "docs_agent_turn", event_payload: { turn_id: turnId, post: name } };
  return { channel: "C1", ts: "1.000100", user: "UBOT", text: "", deleted: false, mentions: [], metadata };
}

function create(idempotencyKey: string) {
  return { projectId: "docs", jobId: "job_1", prompt: `${MARKER} Fix it`, idempotencyKey };
}

function ledger({ isAccepted = true } = {}): Ledger {
  const asked = new Ledger();
  asked.add({ turnId: TURN, marker: MARKER, userId: "U1", isAccepted });
  return asked;
}

it("finds nothing wrong where each request has one job, one status message and one outcome", () => {
  const verdict = ledger().judge([post("status"), post("outcome-1")], [create(TURN)]);
  expect(verdict).toEqual({ lost: [], doubled: [], byRedis: [], outcomes: 1 });
});

it("counts as lost what was accepted and has no outcome, or no message at all", () => {
  expect(ledger().judge([post("status")], [create(TURN)]).lost).toHaveLength(1);
  expect(ledger().judge([], []).lost).toHaveLength(2);
});

it("expects nothing of a request that was not taken, and an outcome once it shows", () => {
  expect(ledger({ isAccepted: false }).judge([], [])).toMatchObject({ lost: [], doubled: [] });
  expect(ledger({ isAccepted: false }).judge([post("status")], []).lost).toHaveLength(1);
});

it("counts as doubled what was posted twice, or what nobody asked for", () => {
  const once = [post("status"), post("outcome-1")];
  expect(ledger().judge([...once, post("outcome-1")], []).doubled).toHaveLength(1);
  expect(ledger().judge([...once, post("outcome-2")], []).doubled).toHaveLength(1);
  expect(ledger().judge([...once, post("status", "command:other")], []).doubled).toHaveLength(1);
});

it("knows what tells a person that their answer didn't arrive, if they could answer", () => {
  const once = [post("status"), post("outcome-1")];
  const unheard = (turnId: string) => post("unheard", `unheard:${turnId}:1`);
  expect(ledger().judge([...once, unheard(TURN)], []).doubled).toEqual([]);
  expect(ledger().judge([...once, unheard(TURN), unheard(TURN)], []).doubled).toHaveLength(1);
  expect(ledger().judge([...once, unheard("command:other")], []).doubled).toHaveLength(1);
});

it("counts apart what Redis forgot: a request taken then, and one more copy of a post made then", () => {
  const tail = { fromMs: 900, toMs: 1_100, turnIds: new Set([TURN]) };
  const judge = (posts: SlackMessage[]) => ledger().judge(posts, [], undefined, tail);
  expect(judge([])).toMatchObject({ lost: [], doubled: [], byRedis: [{}, {}].map(() => expect.any(String)) });
  const once = [post("status"), post("outcome-1")];
  expect(judge([...once, post("status")])).toMatchObject({
    lost: [],
    doubled: [],
    byRedis: [expect.any(String)],
  });
  expect(judge([...once, post("status"), post("status")]).doubled).toHaveLength(1);
  // A button below a post of that time may belong to an outcome that Redis forgot.
  const noTurns = { ...tail, turnIds: new Set<string>() };
  expect(ledger().judge([post("status")], [], undefined, noTurns)).toMatchObject({
    lost: [],
    byRedis: [{}].map(() => expect.any(String)),
  });
  const again = ledger();
  again.add({
    turnId: nextTryOf(TURN, 1),
    marker: MARKER,
    userId: "U1",
    isAccepted: true,
    sharesStatus: true,
  });
  expect(again.judge(once, [], undefined, noTurns)).toMatchObject({
    lost: [],
    byRedis: [expect.stringContaining("again:")],
  });
  const later = { ...tail, fromMs: 2_000, toMs: 3_000, turnIds: new Set<string>() };
  const verdict = ledger().judge([post("status"), post("status")], [], undefined, later);
  expect(verdict).toMatchObject({ byRedis: [], lost: [expect.any(String)], doubled: [expect.any(String)] });
});

it("counts as doubled a second job for one turn, whatever key it was created with", () => {
  const posts = [post("status"), post("outcome-1")];
  expect(ledger().judge(posts, [create(TURN), create(TURN)]).doubled).not.toEqual([]);
  expect(ledger().judge(posts, [create(TURN), create("another key")]).doubled).not.toEqual([]);
});

it("allows a second job for a second try", () => {
  const asked = ledger();
  asked.add({ turnId: "again:1", marker: MARKER, userId: "U1", isAccepted: true });
  const posts = [TURN, "again:1"].flatMap((turnId) => [post("status", turnId), post("outcome-1", turnId)]);
  expect(asked.judge(posts, [create(TURN), create("again:1")])).toMatchObject({ lost: [], doubled: [] });
});

it("allows a follow-up that another message shows, and counts it as doubled if it was sent twice", () => {
  const asked = ledger();
  const followUp = { turnId: "mention:1", marker: "[round-1-2]", userId: "U2", isAccepted: true };
  asked.add({ ...followUp, sharesStatus: true });
  const posts = [post("status"), post("outcome-1"), post("outcome-1", "mention:1")];
  const sent = { ...create("mention:1:message"), prompt: "[round-1-2] And the FAQ" };
  expect(asked.judge(posts, [create(TURN), sent])).toMatchObject({ lost: [], doubled: [] });
  expect(asked.judge(posts, [create(TURN), sent, sent]).doubled).not.toEqual([]);
  expect(asked.judge(posts.slice(0, 2), [create(TURN), sent]).lost).toHaveLength(1);
});

it("counts as lost what has a job, although nobody was told that it was taken", () => {
  expect(ledger({ isAccepted: false }).judge([], [create(TURN)]).lost).toHaveLength(2);
});
