import { describe, expect, it } from "vitest";
import type { Search } from "../../../src/app/rules/ports/notifier.ts";
import type { Place } from "../../../src/app/rules/turn/request.ts";
import { ANA, DOCS, MINUTE_MS, docs, faultOf, label, startSide, status, valueOf } from "../messages/setup.ts";
import type { Side } from "../messages/setup.ts";

/** Looks until the post is found or everything was seen, as often as it takes; each look is one call. */
async function search(side: Side, place: Place, from: Search): Promise<{ ts: string | null; looks: number }> {
  let { cursor } = from;
  for (let looks = 1; ; looks += 1) {
    const { ts, next } = valueOf(await side.notifier.find(place, label, { ...from, cursor }));
    if (ts !== null || next === null) return { ts, looks };
    cursor = next;
  }
}

/** Others talk: one message a second. */
async function chat(side: Side, count: number, threadTs?: string): Promise<void> {
  for (let said = 0; said < count; said += 1) {
    side.clock.advance(1000);
    await side.slack.person(ANA).say({ channel: DOCS, text: "ok", ...(threadTs && { threadTs }) });
  }
}

function looksIn(side: Side) {
  return side.slack.calls.filter(({ method }) => /history|replies/.test(method)).map(({ args }) => args);
}

describe("a post is looked for in a channel", () => {
  it("by one call a look, of 15 messages, going on where the last one ended", async () => {
    await using side = await startSide();
    const sentAtMs = side.notifier.slackTimeMs();
    const { ts } = valueOf(await side.notifier.post(docs, status(), label));
    await chat(side, 40);

    expect(await search(side, docs, { sentAtMs, cursor: null })).toEqual({ ts, looks: 3 });
    expect(looksIn(side)).toHaveLength(3);
    for (const args of looksIn(side)) {
      expect(args).toMatchObject({ limit: "15", include_all_metadata: "true" });
    }
  });

  it("until everything since it may have been sent was seen, and no further back", async () => {
    await using side = await startSide();
    await chat(side, 60);
    side.clock.advance(2 * MINUTE_MS);
    const sentAtMs = side.notifier.slackTimeMs();
    await chat(side, 20);
    expect(await search(side, docs, { sentAtMs, cursor: null })).toEqual({ ts: null, looks: 2 });
  });

  it("by turn and post, and no other is taken for it", async () => {
    await using side = await startSide();
    await side.notifier.post(docs, status(), { ...label, post: "outcome-1" });
    await side.notifier.post(docs, status(), { ...label, turnId: "command:9" });
    expect((await search(side, docs, { sentAtMs: side.clock.now(), cursor: null })).ts).toBe(null);
  });

  it("by who wrote it, and what others posted with the same metadata is not taken for it", async () => {
    await using side = await startSide();
    const sentAtMs = side.notifier.slackTimeMs();
    const { ts } = valueOf(await side.notifier.post(docs, status(), label));
    const metadata = {
      event_type: "docs_agent_turn",
      event_payload: { turn_id: label.turnId, post: label.post },
    };
    side.clock.advance(1000);
    side.slack.workspace.post({ channel: DOCS, user: ANA, text: "Mine", metadata });
    expect(await search(side, docs, { sentAtMs, cursor: null })).toEqual({ ts, looks: 1 });
  });

  it("once Slack has said who the app is", async () => {
    await using side = await startSide();
    side.team.identity = { ...side.team.identity, botUserId: "", botId: "" };
    const answer = await side.notifier.find(docs, label, { sentAtMs: 0, cursor: null });
    expect(faultOf(answer)).toMatchObject({ kind: "unknown" });
  });

  it("from the start again when Slack no longer takes the cursor", async () => {
    await using side = await startSide();
    const sentAtMs = side.notifier.slackTimeMs();
    const { ts } = valueOf(await side.notifier.post(docs, status(), label));
    expect(await search(side, docs, { sentAtMs, cursor: "bm9ib2R5J3M=" })).toEqual({ ts, looks: 2 });
  });
});

describe("a post is looked for in a thread", () => {
  it.each([
    ["a new one", 0, 0, 1],
    ["with much before it", 100, 0, 5],
    ["with much after it", 0, 40, 1],
    ["with much on both sides", 100, 100, 5],
  ])("%s", async (_, before, after, mostLooks) => {
    await using side = await startSide();
    const root = await side.slack.person(ANA).say({ channel: DOCS, text: "The FAQ is wrong" });
    const thread = { ...docs, threadTs: root.message.ts };
    await chat(side, before, root.message.ts);
    const sentAtMs = side.notifier.slackTimeMs();
    const { ts } = valueOf(await side.notifier.post(thread, status(), label));
    await chat(side, after, root.message.ts);

    const found = await search(side, thread, { sentAtMs, cursor: null });
    expect(found.ts).toBe(ts);
    expect(found.looks).toBeLessThanOrEqual(mostLooks);
    for (const args of looksIn(side)) expect(args).toMatchObject({ limit: "15" });
  });

  it("and its root does not count, whatever it carries", async () => {
    await using side = await startSide();
    const sentAtMs = side.notifier.slackTimeMs();
    const root = valueOf(await side.notifier.post(docs, status(), label));
    const thread = { ...docs, threadTs: root.ts };
    expect((await search(side, thread, { sentAtMs, cursor: null })).ts).toBe(null);
  });

  it("that is gone, or not shown yet: then it was not seen", async () => {
    await using side = await startSide();
    const thread = { ...docs, threadTs: "1767603600.000100" };
    const answer = await side.notifier.find(thread, label, { sentAtMs: 0, cursor: null });
    expect(valueOf(answer)).toEqual({ ts: null, next: null });
  });
});

describe("Slack's time", () => {
  it("is ours until Slack has answered, then Slack's, to the second and never ahead of it", async () => {
    await using side = await startSide({ slackAheadMs: -10 * MINUTE_MS });
    const { clock, notifier } = side;
    clock.advance(700);
    expect(notifier.slackTimeMs()).toBe(clock.now());
    await notifier.post(docs, status(), label);
    expect(notifier.slackTimeMs()).toBe(clock.now() - 700 - 10 * MINUTE_MS);
    clock.advance(90_000);
    expect(notifier.slackTimeMs()).toBe(clock.now() - 700 - 10 * MINUTE_MS);
  });

  it("goes on by itself when somebody sets the host's clock", async () => {
    await using side = await startSide();
    const { clock, notifier } = side;
    await notifier.post(docs, status(), label);
    const before = notifier.slackTimeMs();
    clock.step(-60 * MINUTE_MS);
    clock.advance(1000);
    expect(notifier.slackTimeMs()).toBe(before + 1000);
  });

  it("is also told by an answer that is Slack's refusal, and not by a page of a proxy", async () => {
    await using side = await startSide({ slackAheadMs: 10 * MINUTE_MS });
    side.slack.faults.add({
      method: "chat.postMessage",
      fault: { kind: "http", status: 403, body: "<html>no</html>" },
    });
    await side.notifier.post(docs, status(), label);
    expect(side.notifier.slackTimeMs()).toBe(side.clock.now());
    side.slack.faults.add({ method: "chat.postMessage", fault: { kind: "error", error: "fatal_error" } });
    await side.notifier.post(docs, status(), label);
    expect(side.notifier.slackTimeMs()).toBe(side.clock.now() + 10 * MINUTE_MS);
  });

  it.each([-10, 10])("finds a post when Slack's clock is %i minutes from the host's", async (minutes) => {
    await using side = await startSide({ slackAheadMs: minutes * MINUTE_MS });
    await side.notifier.post(docs, status(), { ...label, post: "other" });
    const sentAtMs = side.notifier.slackTimeMs();
    side.slack.faults.add({ method: "chat.postMessage", fault: { kind: "drop-after" } });
    expect(faultOf(await side.notifier.post(docs, status(), label)).kind).toBe("unknown");
    const sent = side.slack.messages(DOCS).at(-1)?.ts;
    expect((await search(side, docs, { sentAtMs, cursor: null })).ts).toBe(sent);
  });
});
