// @module-tag all

import { expect, it } from "vitest";
import type { Call, SlackMessage } from "../../world/slack/index.ts";
import { orderBreaches, peakPerMinute, rateBreaches } from "./rates-and-order.ts";

function post(name: string, ts: string, thread?: string, channel = "C1"): SlackMessage {
  const metadata = { event_type: "docs_agent_turn", event_payload: { turn_id: "command:1", post: name } };
  return {
    channel,
    ts,
    user: "UBOT",
    text: "",
    deleted: false,
    mentions: [],
    metadata,
    ...(thread !== undefined && { thread_ts: thread }),
  };
}

function calls(method: string, times: number[], channel = "C1"): Call[] {
  return times.map((at) => ({ method, args: { channel }, at, result: "ok" }));
}

it("finds nothing wrong in threads that are in their order", () => {
  const inOwnThread = [
    post("status", "1.000001"),
    post("outcome-1", "2.000001", "1.000001"),
    post("outcome-2", "3.000001", "1.000001"),
  ];
  expect(orderBreaches(inOwnThread)).toEqual([]);
  const inOthers = [post("status", "5.000001", "4.000001"), post("outcome-1", "6.000001", "4.000001")];
  expect(orderBreaches(inOthers)).toEqual([]);
});

it("finds outcomes before their status message, out of turn, and elsewhere", () => {
  expect(orderBreaches([post("outcome-1", "1.000001", "2.000001"), post("status", "2.000001")])).toHaveLength(
    1,
  );
  expect(
    orderBreaches([
      post("status", "1.000001"),
      post("outcome-2", "2.000001", "1.000001"),
      post("outcome-1", "3.000001", "1.000001"),
    ]),
  ).toHaveLength(2);
  expect(orderBreaches([post("status", "1.000001"), post("outcome-1", "2.000001")])).toHaveLength(1);
  expect(
    orderBreaches([post("status", "1.000001"), post("outcome-1", "2.000001", "1.000001", "C2")]),
  ).toHaveLength(1);
});

it("allows three posts within three seconds in each channel, and no fourth", () => {
  const allowed = calls("chat.postMessage", [0, 0, 0, 3000, 4000, 5000]);
  expect(rateBreaches([...allowed, ...calls("chat.postMessage", [5000, 5000, 5000], "C2")])).toEqual([]);
  expect(rateBreaches(calls("chat.postMessage", [0, 1000, 2000, 2999]))).toHaveLength(1);
});

it("allows 50 updates within a minute over all channels", () => {
  const minute = Array.from({ length: 50 }, (_, index) => index * 1000);
  expect(rateBreaches(calls("chat.update", [...minute, 60_000]))).toEqual([]);
  expect(
    rateBreaches([...calls("chat.update", minute), ...calls("chat.update", [59_999], "C2")]),
  ).toHaveLength(1);
});

it("leaves out what a fault has held up, which arrives at its end", () => {
  const late = calls("chat.postMessage", [5000, 5050, 6000, 7100]);
  expect(rateBreaches(late, [4900])).toEqual([]);
  expect(rateBreaches(late, [1000, 20_000])).toHaveLength(1);
});

it("names the busiest minute", () => {
  const looks = calls("conversations.replies", [0, 1000, 70_000, 80_000, 129_999, 130_000]);
  expect(peakPerMinute(looks, () => true)).toBe(3);
});
