// @module-tag all

import {
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
} from "@slack/web-api";
import { describe, expect, it } from "vitest";
import type { Call, Fault } from "../../../world/slack/index.ts";
import { makeClient, startSlack } from "./setup.ts";

async function postUnder(fault: Fault, timeoutMs?: number) {
  await using world = await startSlack();
  const { slack, docs } = world;
  slack.faults.add({ method: "chat.postMessage", fault });
  const client = makeClient(slack, undefined, timeoutMs);
  const thrown = await client.chat.postMessage({ channel: docs.id, text: "x" }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { thrown, posted: slack.messages(docs.id).length, result: slack.calls[0]?.result };
}

describe("faults", () => {
  it("asks the app to slow down", async () => {
    const { thrown, posted, result } = await postUnder({ kind: "ratelimited", retryAfterS: 30 });
    expect(thrown).toBeInstanceOf(WebAPIRateLimitedError);
    expect(thrown).toMatchObject({ retryAfter: 30 });
    expect({ posted, result }).toEqual({ posted: 0, result: "ratelimited" });
  });

  it("fails with an HTTP status, before or after the message is there", async () => {
    const before = await postUnder({ kind: "http", status: 503, body: "upstream" });
    const after = await postUnder({ kind: "http", status: 500, isDone: true });
    expect(before.thrown).toBeInstanceOf(WebAPIHTTPError);
    expect(before.thrown).toMatchObject({ statusCode: 503, body: "upstream" });
    expect(after.thrown).toMatchObject({ statusCode: 500 });
    expect([before.posted, after.posted]).toEqual([0, 1]);
  });

  it("fails with a word of Slack's", async () => {
    const { thrown, posted } = await postUnder({ kind: "error", error: "internal_error" });
    expect(thrown).toBeInstanceOf(WebAPIPlatformError);
    expect(thrown).toMatchObject({ data: { error: "internal_error" } });
    expect(posted).toBe(0);
  });

  it("breaks the connection before the message is there, or after", async () => {
    const before = await postUnder({ kind: "drop-before" });
    const after = await postUnder({ kind: "drop-after" });
    expect(before.thrown).toBeInstanceOf(WebAPIRequestError);
    expect(after.thrown).toBeInstanceOf(WebAPIRequestError);
    expect([before.posted, after.posted]).toEqual([0, 1]);
  });

  it("never answers, and closes all the same", async () => {
    const { thrown, posted } = await postUnder({ kind: "hang" }, 100);
    expect(thrown).toBeInstanceOf(WebAPIRequestError);
    expect(posted).toBe(0);
  });

  it("answers with a page that is no JSON", async () => {
    const { thrown, posted } = await postUnder({ kind: "garbage" });
    expect(String(thrown)).toContain("<!DOCTYPE html>");
    expect(posted).toBe(0);
  });

  it("strikes as often as it was told, only the calls it was told, until it is cleared", async () => {
    await using world = await startSlack();
    const { slack, client, docs } = world;
    const fault = { kind: "error", error: "internal_error" } as const;
    slack.faults.add({ method: "*", times: 2, when: (call) => call.args["text"] === "strike", fault });
    slack.faults.add({ method: "auth.test", times: Number.POSITIVE_INFINITY, fault });
    const strike = () => client.chat.postMessage({ channel: docs.id, text: "strike" });
    await client.chat.postMessage({ channel: docs.id, text: "miss" });
    await expect(strike()).rejects.toThrow("internal_error");
    await expect(strike()).rejects.toThrow("internal_error");
    await strike();
    await expect(client.auth.test()).rejects.toThrow("internal_error");
    await expect(client.auth.test()).rejects.toThrow("internal_error");
    slack.faults.clear();
    await client.auth.test();
  });
});

describe("hooks", () => {
  it("are awaited before a call takes effect, and after that before it is answered", async () => {
    await using world = await startSlack();
    const { slack, client, docs } = world;
    const seen: [string, Call["result"], number][] = [];
    const remove = slack.onCall(async (phase, call) => {
      await Promise.resolve();
      seen.push([phase, call.result, slack.messages(docs.id).length]);
    });
    await client.chat.postMessage({ channel: docs.id, text: "x" });
    remove();
    await client.chat.postMessage({ channel: docs.id, text: "y" });
    expect(seen).toEqual([
      ["before", undefined, 0],
      ["after", "ok", 1],
    ]);
  });

  it("keep a call going whose client died, and Slack with it", async () => {
    await using world = await startSlack();
    const { slack, client, docs } = world;
    const killed = new AbortController();
    slack.onCall((phase) => {
      if (phase === "before") killed.abort();
    });
    const call = fetch(`${slack.apiUrl}chat.postMessage`, {
      method: "POST",
      headers: { authorization: "Bearer xoxb-test" },
      body: new URLSearchParams({ channel: docs.id, text: "last words" }),
      signal: killed.signal,
    });
    await expect(call).rejects.toThrow("aborted");
    const message = await slack.until(() => slack.messages(docs.id)[0]);
    expect(message.text).toBe("last words");
    await client.auth.test();
  });
});
