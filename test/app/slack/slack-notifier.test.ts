import { describe, expect, it } from "vitest";
import { makeOutcome, makeTurn } from "../../support/builders.ts";
import {
  ANA,
  DOCS,
  MINUTE_MS,
  RANDOM,
  docs,
  faultOf,
  label,
  random,
  responseUrlIn,
  startSide,
  status,
  toldPrivately,
  valueOf,
} from "../messages/setup.ts";

const KEPT = "Got it. Your request is saved, but Slack won't let me post yet. No need to resend.";
const kept = { kind: "kept" } as const;

describe("a post", () => {
  it("is answered with its channel and time, and can be updated there", async () => {
    await using side = await startSide();
    const posted = valueOf(await side.notifier.post(docs, status(), label));
    expect(posted.channelId).toBe(DOCS);
    valueOf(await side.notifier.update(docs, posted.ts, status("Fix the FAQ"), label));
    expect(side.slack.messages(DOCS).map((message) => side.slack.visibleText(message))).toEqual([
      expect.stringContaining("Fix the FAQ"),
    ]);
  });

  it("to a person's id is answered with their direct message, where it can be updated", async () => {
    await using side = await startSide({ without: ["im:write"] });
    const { channelId } = valueOf(await side.notifier.openDirectMessage(ANA));
    expect(channelId).toBe(ANA);
    const posted = valueOf(await side.notifier.post({ ...docs, channelId }, status(), label));
    expect(posted.channelId).toMatch(/^D/);
    const there = { ...docs, channelId: posted.channelId };
    valueOf(await side.notifier.update(there, posted.ts, status("Fix the FAQ"), label));
    expect(side.slack.visibleText(side.slack.dm(ANA)[0]!)).toContain("Fix the FAQ");
    const looked = await side.notifier.find(there, label, { sentAtMs: side.clock.now(), cursor: null });
    expect(valueOf(looked).ts).toBe(posted.ts);
  });

  it("goes out without its blocks when Slack refuses them", async () => {
    await using side = await startSide();
    side.slack.faults.add({
      method: "chat.postMessage",
      times: 2,
      fault: { kind: "error", error: "invalid_blocks" },
    });
    valueOf(await side.notifier.post(docs, status(), label));
    const [message] = side.slack.messages(DOCS);
    expect(message?.blocks).toBe(undefined);
    expect(message?.text).toContain("Fix the install command");
    expect(side.logger.text("error")).toContain("Slack refused our blocks");
  });

  it("goes out in plain blocks where Slack takes no tasks, and from then on at once", async () => {
    await using side = await startSide();
    side.slack.faults.add({
      method: "*",
      times: Infinity,
      when: ({ args }) => JSON.stringify(args["blocks"] ?? "").includes("task_card"),
      fault: { kind: "error", error: "invalid_blocks" },
    });
    const { ts } = valueOf(await side.notifier.post(docs, status(), label));
    const typesOf = () => side.slack.messages(DOCS)[0]?.blocks?.map(({ type }) => type);
    expect(typesOf()).toEqual(["section", "rich_text", "context", "actions"]);
    expect(side.slack.calls.map(({ result }) => result)).toEqual(["invalid_blocks", "ok"]);
    valueOf(await side.notifier.update(docs, ts, status("Fix the FAQ"), label));
    expect(side.slack.calls.map(({ result }) => result)).toEqual(["invalid_blocks", "ok", "ok"]);
    expect(typesOf()).toEqual(["section", "rich_text", "context", "actions"]);
    expect(side.logger.text("error")).toBe("");
  });

  it("keeps its plan where Slack takes no feedback buttons alone, and the log says which", async () => {
    await using side = await startSide();
    side.slack.faults.add({
      method: "*",
      times: Infinity,
      when: ({ args }) => JSON.stringify(args["blocks"] ?? "").includes("context_actions"),
      fault: { kind: "error", error: "invalid_blocks" },
    });
    const turn = makeTurn();
    const outcome = {
      kind: "outcome",
      turn,
      outcome: makeOutcome({ kind: "no-changes" }),
      watch: 1,
      movedBecause: null,
    } as const;
    valueOf(await side.notifier.post(docs, outcome, label));
    valueOf(await side.notifier.post(docs, status(), label));
    valueOf(await side.notifier.post(docs, outcome, label));
    expect(side.slack.calls.map(({ result }) => result)).toEqual(["invalid_blocks", "ok", "ok", "ok"]);
    const types = side.slack.messages(DOCS).map(({ blocks }) => blocks?.map(({ type }) => type));
    expect(types[1]).toContain("task_card");
    const said = "Slack takes no feedback buttons here; sending plain blocks from now on";
    expect(side.logger.lines.map(({ message }) => message)).toEqual([said]);
  });

  it("in a thread that is gone is taken back where Slack puts it into the channel", async () => {
    await using side = await startSide();
    side.slack.workspace.orphanedReplies = "unthread";
    const thread = { ...docs, threadTs: "1767603600.000100" };
    expect(faultOf(await side.notifier.post(thread, status(), label))).toEqual({
      kind: "place",
      error: "thread_not_found",
    });
    expect(side.slack.messages(DOCS)).toEqual([]);
  });

  it.each<[string, (side: Awaited<ReturnType<typeof startSide>>) => void, string]>([
    ["the bot is not in", ({ slack }) => slack.workspace.kick(DOCS), "not_in_channel"],
    ["is archived", ({ slack }) => slack.workspace.archiveChannel(DOCS), "is_archived"],
  ])("in a channel that %s is refused for good", async (_, change, error) => {
    await using side = await startSide();
    change(side);
    expect(faultOf(await side.notifier.post(docs, status(), label))).toEqual({ kind: "place", error });
  });
});

describe("an update", () => {
  it("of a message that is gone, or in an archived channel, is refused for good", async () => {
    await using side = await startSide();
    const { ts } = valueOf(await side.notifier.post(docs, status(), label));
    side.slack.workspace.archiveChannel(DOCS);
    expect(faultOf(await side.notifier.update(docs, ts, status(), label))).toEqual({
      kind: "place",
      error: "is_inactive",
    });
    side.slack.workspace.archiveChannel(DOCS, false);
    side.slack.workspace.deleteMessage(DOCS, ts);
    expect(faultOf(await side.notifier.update(docs, ts, status(), label))).toEqual({
      kind: "place",
      error: "message_not_found",
    });
  });

  it("needs no thread", async () => {
    await using side = await startSide();
    const root = valueOf(await side.notifier.post(docs, status(), label));
    const thread = { ...docs, threadTs: root.ts };
    const reply = valueOf(await side.notifier.post(thread, status(), { ...label, post: "outcome-1" }));
    valueOf(await side.notifier.update({ ...thread, threadTs: "1.1" }, reply.ts, status("Done"), label));
    expect(side.slack.visibleText(side.slack.thread(DOCS, root.ts)[1]!)).toContain("Done");
  });
});

describe("a private reply", () => {
  it("uses the response URL, also where the bot is not", async () => {
    await using side = await startSide();
    const responseUrl = await responseUrlIn(side, RANDOM);
    valueOf(await side.notifier.replyPrivately({ place: random, userId: ANA, responseUrl }, kept));
    expect(toldPrivately(side)).toEqual([KEPT]);
    expect(side.slack.calls.map(({ method }) => method)).toEqual(["response_url"]);
  });

  it.each<[string, (side: Awaited<ReturnType<typeof startSide>>, url: string) => Promise<void>]>([
    ["is too old", async ({ clock }) => clock.advance(31 * MINUTE_MS)],
    [
      "is used up",
      async ({ notifier }, responseUrl) => {
        for (let use = 0; use < 5; use += 1) {
          await notifier.replyPrivately({ place: docs, userId: ANA, responseUrl }, { kind: "help" });
        }
      },
    ],
  ])("is an ephemeral message when the response URL %s", async (_, wear) => {
    await using side = await startSide();
    const responseUrl = await responseUrlIn(side, DOCS);
    await wear(side, responseUrl);
    valueOf(await side.notifier.replyPrivately({ place: docs, userId: ANA, responseUrl }, kept));
    expect(toldPrivately(side).at(-1)).toBe(KEPT);
    expect(side.slack.calls.at(-1)?.method).toBe("chat.postEphemeral");
  });

  it.each([null, "", "not a URL"])(
    "is an ephemeral message without a response URL: %j",
    async (responseUrl) => {
      await using side = await startSide();
      const root = valueOf(await side.notifier.post(docs, status(), label));
      const place = { ...docs, threadTs: root.ts };
      valueOf(await side.notifier.replyPrivately({ place, userId: ANA, responseUrl }, kept));
      expect(toldPrivately(side)).toEqual([KEPT]);
      expect(side.slack.ephemerals(ANA)[0]?.thread_ts).toBe(root.ts);
    },
  );

  it("is not said again elsewhere when it may have been said", async () => {
    await using side = await startSide();
    const responseUrl = await responseUrlIn(side, DOCS);
    const reply = () => side.notifier.replyPrivately({ place: docs, userId: ANA, responseUrl }, kept);
    side.slack.faults.add({ method: "response_url", fault: { kind: "drop-after" } });
    expect(faultOf(await reply()).kind).toBe("unknown");
    expect(toldPrivately(side)).toEqual([KEPT]);
    side.slack.faults.add({ method: "response_url", fault: { kind: "http", status: 500 } });
    expect(faultOf(await reply())).toEqual({ kind: "unknown", error: "http_500" });
  });

  it("has no way left where the bot is not and the response URL is over", async () => {
    await using side = await startSide();
    const responseUrl = await responseUrlIn(side, RANDOM);
    side.clock.advance(31 * MINUTE_MS);
    const answer = await side.notifier.replyPrivately({ place: random, userId: ANA, responseUrl }, kept);
    expect(faultOf(answer)).toEqual({ kind: "place", error: "not_in_channel" });
  });
});

describe("a direct message", () => {
  it("is opened with a person", async () => {
    await using side = await startSide();
    const { channelId } = valueOf(await side.notifier.openDirectMessage(ANA));
    valueOf(await side.notifier.post({ ...docs, channelId }, status(), label));
    expect(side.slack.dm(ANA)).toHaveLength(1);
  });

  it("is refused for good for someone who is not there", async () => {
    await using side = await startSide();
    expect(faultOf(await side.notifier.openDirectMessage("U0NOBODY"))).toEqual({
      kind: "place",
      error: "user_not_found",
    });
  });
});
