import { WebClient } from "@slack/web-api";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readNewest } from "../../../src/app/slack/slack-thread-reader.ts";
import type { ThreadPages } from "../../../src/app/slack/slack-thread-reader.ts";

const START = 1_700_000_000;

/** Stretches of messages, in seconds, each with a silence after it. */
const stretches = fc.array(
  fc.record({
    count: fc.integer({ min: 1, max: 1_500 }),
    apart: fc.constantFrom(0.01, 0.2, 1, 60, 4_000),
    silence: fc.constantFrom(0.1, 60, 86_400, 16_000_000),
  }),
  { minLength: 1, maxLength: 4 },
);

it("ends at the newest message within eight calls, however the messages are spread over time", async () => {
  await fc.assert(
    fc.asyncProperty(stretches, fc.boolean(), async (parts, tellsLatest) => {
      let at = START;
      const times: number[] = [];
      for (const { count, apart, silence } of parts) {
        for (let n = 0; n < count; n += 1) times.push((at += apart));
        at += silence;
      }
      const replies = times.map((time) => ({ ts: time.toFixed(6), text: "said" }));
      const ts = START.toFixed(6);
      const latest = at.toFixed(6);
      const root = { ts, text: "first", ...(tellsLatest ? { latest_reply: latest } : {}) };
      const client = new WebClient();
      let calls = 0;
      client.conversations.replies = ({ oldest = "0", limit = 1000 }) => {
        calls += 1;
        const wanted = replies.filter((reply) => reply.ts > oldest);
        const messages = [root, ...wanted.slice(0, limit - 1)];
        return Promise.resolve({ ok: true, messages, has_more: wanted.length >= limit });
      };
      const pages: ThreadPages = {
        messages: new Map(),
        readFrom: null,
        position: { from: START, cutAt: START, fewAt: null },
      };
      const fault = await readNewest(client, { channel: "C0DOCS", ts, latest }, START, pages);
      expect(fault).toBeNull();
      expect(calls).toBeLessThanOrEqual(8);
      const { messages, readFrom } = pages;
      const after = (time: string) => Number(time) > (readFrom ?? Infinity);
      const expected = replies.filter((reply) => after(reply.ts)).map((reply) => reply.ts);
      expect(expected.length).toBeGreaterThan(0);
      expect([...messages.keys()].filter(after).toSorted()).toEqual(expected);
    }),
  );
});
