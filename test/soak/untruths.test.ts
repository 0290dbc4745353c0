// @module-tag all

import { expect, it } from "vitest";
import { startSlackSide } from "../support/world.ts";
import type { SlackMessage } from "../../world/slack/index.ts";
import { untruths } from "./untruths.ts";

const TURN = "command:1.2.3";
const SENT = { projectId: "docs", jobId: "job_1", prompt: "Fix it", idempotencyKey: TURN };
const NOTHING = { creates: [SENT], messages: [], cancels: [], answers: [] };

function post(name: string, text: string, button?: string): SlackMessage {
  const metadata = { event_type: "docs_agent_turn", event_payload: { turn_id: TURN, post: name } };
  const element = {
    type: "button",
    text: { type: "plain_text", text: "Press" },
    action_id: button ?? "view_pull_request",
  } as const;
  const blocks = [
    { type: "section", text: { type: "mrkdwn", text } },
    { type: "actions", elements: [element] },
  ] as SlackMessage["blocks"];
  return {
    channel: "C1",
    ts: "1.000100",
    user: "UBOT",
    text,
    deleted: false,
    mentions: [],
    metadata,
    ...(blocks === undefined ? {} : { blocks }),
  };
}

it.each([
  ["a stop that nobody took", post("outcome-1", "⏹️ Ana stopped the agent."), NOTHING],
  ["that nothing started, where it did", post("outcome-1", "Ana canceled this before it started."), NOTHING],
  [
    "a result of what was canceled",
    post("outcome-1", "No changes made."),
    { ...NOTHING, cancels: ["job_1/1"] },
  ],
  ["an answer that never arrived", post("question-1", "Ana answered: FAQ"), NOTHING],
  ["a question that can still be answered", post("question-1", "Which?", "answer_choice_0"), NOTHING],
  ["a stop that is still offered", post("status", "✅ Done", "stop_turn"), NOTHING],
  ["that it is being stopped", post("status", "⏹️ Stopping…"), NOTHING],
])("finds %s", async (_, message, done) => {
  await using slack = await startSlackSide();
  expect(untruths(slack, [message], done)).toHaveLength(1);
});

it.each([
  ["a stop", post("outcome-1", "⏹️ Ana stopped the agent."), { ...NOTHING, cancels: ["job_1/1"] }],
  [
    "that nothing started",
    post("outcome-1", "Ana canceled this before it started."),
    { ...NOTHING, creates: [] },
  ],
  [
    "an answer",
    post("question-1", "Ana answered: FAQ"),
    { ...NOTHING, answers: [{ jobId: "job_1", questionId: "q-1", answer: "2" }] },
  ],
  [
    "that an answer came too late",
    post("question-1", "Ana answered: FAQ\nToo late: the agent had gone on."),
    NOTHING,
  ],
])("believes %s", async (_, message, done) => {
  await using slack = await startSlackSide();
  expect(untruths(slack, [message], done)).toEqual([]);
});
