import { createServer } from "node:http";
import { WebClient } from "@slack/web-api";
import { describe, expect, it } from "vitest";
import type { Notifier, NotifierAnswer, NotifierFault } from "../../../src/app/rules/ports/notifier.ts";
import { slackFault } from "../../../src/app/slack/slack-faults.ts";
import { ANA, MINUTE_MS, docs, faultOf, label, startSide, status } from "../messages/setup.ts";

const kept = { kind: "kept" } as const;

/** Each way to speak to Slack, and the Web API method behind it. */
const calls = {
  post: ["chat.postMessage", (notifier) => notifier.post(docs, status(), label)],
  update: ["chat.update", (notifier) => notifier.update(docs, "1.000100", status(), label)],
  find: ["conversations.history", (notifier) => notifier.find(docs, label, { sentAtMs: 0, cursor: null })],
  private: [
    "chat.postEphemeral",
    (notifier) => notifier.replyPrivately({ place: docs, userId: ANA, responseUrl: null }, kept),
  ],
  dm: ["conversations.open", (notifier) => notifier.openDirectMessage(ANA)],
} satisfies Record<string, [string, (notifier: Notifier) => Promise<NotifierAnswer<unknown>>]>;
type CallName = keyof typeof calls;
const everyCall = Object.keys(calls) as CallName[];

async function faultFor(name: CallName, error: string): Promise<NotifierFault> {
  await using side = await startSide();
  const [method, call] = calls[name];
  // A message whose blocks are refused is sent again with plainer ones, and then without them.
  side.slack.faults.add({ method, times: 3, fault: { kind: "error", error } });
  return faultOf(await call(side.notifier));
}

describe("an error code that no list knows", () => {
  it.each(
    everyCall.flatMap((name) =>
      ["team_access_not_granted", "ekm_access_denied", "access_denied", "some_new_error", "fatal_error"].map(
        (error) => [name, error] as const,
      ),
    ),
  )("is temporary: %s, %s", async (name, error) => {
    expect(await faultFor(name, error)).toEqual({ kind: "unknown", error });
  });
});

describe("an error code that is final", () => {
  it.each<[CallName, string[]]>([
    [
      "post",
      [
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "no_permission",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "restricted_action_thread_locked",
        "restricted_action_non_threadable_channel",
        "cannot_reply_to_message",
        "thread_not_found",
        "message_not_found",
      ],
    ],
    [
      "update",
      [
        "message_not_found",
        "cant_update_message",
        "edit_window_closed",
        "is_inactive",
        "channel_not_found",
        "not_in_channel",
      ],
    ],
    ["find", ["channel_not_found", "not_in_channel", "channel_is_limited_access"]],
    ["private", ["channel_not_found", "not_in_channel", "is_archived", "user_not_in_channel"]],
    ["dm", ["user_not_found", "user_disabled", "user_not_visible", "cannot_dm_bot"]],
  ])("says so of its place: %s", async (name, errors) => {
    for (const error of errors) {
      expect(await faultFor(name, error)).toEqual({ kind: "place", error });
    }
  });

  it.each<[CallName, string]>([
    ["post", "cant_update_message"],
    ["post", "user_not_found"],
    ["update", "cannot_reply_to_message"],
    ["find", "is_archived"],
    ["dm", "is_archived"],
  ])("is final for its own purpose alone: not for %s, %s", async (name, error) => {
    expect((await faultFor(name, error)).kind).toBe("unknown");
  });
});

it.each(everyCall)(
  "a token that is not accepted, or may not do it, is for the operator: %s",
  async (name) => {
    for (const error of ["invalid_auth", "token_revoked", "account_inactive", "not_allowed_token_type"]) {
      expect(await faultFor(name, error)).toEqual({ kind: "credentials", error });
    }
  },
);

it.each(["missing_scope", "messages_tab_disabled"])(
  "the app's own settings are for the operator: %s",
  async (error) => {
    expect(await faultFor("post", error)).toEqual({ kind: "credentials", error });
  },
);

it.each(everyCall)("what Slack says it did not do can be repeated at once: %s", async (name) => {
  for (const error of ["service_unavailable", "ratelimited", "team_added_to_org"]) {
    expect(await faultFor(name, error)).toEqual({ kind: "not-sent", error });
  }
});

it.each(["invalid_blocks", "msg_too_long", "msg_blocks_too_long"])(
  "a message that Slack refuses with and without blocks certainly is not there: %s",
  async (error) => {
    expect(await faultFor("post", error)).toEqual({ kind: "not-sent", error });
  },
);

describe("what is not Slack's own answer", () => {
  it("may have had an effect when it came after the call arrived", async () => {
    await using side = await startSide();
    const { faults } = side.slack;
    const post = async () => faultOf(await side.notifier.post(docs, status(), label));
    faults.add({ method: "chat.postMessage", fault: { kind: "http", status: 503 } });
    expect(await post()).toEqual({ kind: "unknown", error: "http_503" });
    faults.add({ method: "chat.postMessage", fault: { kind: "http", status: 408 } });
    expect(await post()).toEqual({ kind: "unknown", error: "http_408" });
    faults.add({ method: "chat.postMessage", fault: { kind: "drop-after" } });
    expect((await post()).kind).toBe("unknown");
    faults.add({ method: "chat.postMessage", fault: { kind: "garbage" } });
    expect(await post()).toEqual({ kind: "unknown", error: "unreadable_answer" });
  });

  it("had none when it was refused on the way, or nobody listens", async () => {
    await using side = await startSide();
    side.slack.faults.add({ method: "chat.postMessage", fault: { kind: "http", status: 403 } });
    expect(faultOf(await side.notifier.post(docs, status(), label))).toEqual({
      kind: "not-sent",
      error: "http_403",
    });
    await side.slack.close();
    expect(faultOf(await side.notifier.post(docs, status(), label))).toEqual({
      kind: "not-sent",
      error: "ECONNREFUSED",
    });
  });
});

describe("the wait that a 429 asks for", () => {
  async function waitFor(retryAfter: string | null): Promise<NotifierFault> {
    const server = createServer((_request, response) => {
      if (retryAfter !== null) response.setHeader("retry-after", retryAfter);
      response.writeHead(429).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const client = new WebClient("xoxb-1", {
      slackApiUrl: `http://127.0.0.1:${port}/`,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: 5000,
    });
    try {
      return slackFault(await client.auth.test().then(null, (thrown: unknown) => thrown));
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  it.each([
    ["7", 7000],
    ["0", 0],
    ["-5", 0],
    ["900", 15 * MINUTE_MS],
    ["901", 15 * MINUTE_MS],
    ["99999999999", 15 * MINUTE_MS],
    ["9".repeat(400), 30_000],
    ["soon", 30_000],
    ["Wed, 21 Oct 2026 07:28:00 GMT", 30_000],
    ["", 30_000],
    [null, 30_000],
  ])("%j is never more than a quarter of an hour: %i ms", async (header, retryAfterMs) => {
    expect(await waitFor(header)).toEqual({ kind: "not-sent", retryAfterMs, error: "ratelimited" });
  });

  it("is the same from a response URL", async () => {
    await using side = await startSide();
    const responseUrl = `${new URL("/response/x", side.slack.apiUrl).href}`;
    for (const [retryAfterS, retryAfterMs] of [
      [3, 3000],
      [99_999_999_999, 15 * MINUTE_MS],
      [Number.NaN, 30_000],
    ] as const) {
      side.slack.faults.add({ method: "response_url", fault: { kind: "ratelimited", retryAfterS } });
      const answer = await side.notifier.replyPrivately({ place: docs, userId: ANA, responseUrl }, kept);
      expect(faultOf(answer)).toEqual({ kind: "not-sent", retryAfterMs, error: "ratelimited" });
    }
  });
});
