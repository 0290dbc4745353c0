import { expect, it, vi } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { MINUTE_MS, PR, done, jobOf } from "../support/threads.ts";
import { ANA, BEN, DOCS, World, type WorldOptions } from "../support/world.ts";
import { PATIENT } from "../support/patient.ts";

const SHOW = "show_changes";
const DIFF = {
  files: [
    { path: "docs/install.md", status: "changed", additions: 1, deletions: 1 },
    { path: "docs/logo.png", status: "added", additions: null, deletions: null },
  ],
  fileCount: 2,
  diff: [
    "diff --git a/docs/install.md b/docs/install.md",
    "index 8d0e412..f1a9c3b 100644",
    "--- a/docs/install.md",
    "+++ b/docs/install.md",
    "@@ -1,2 +1,2 @@ # Install",
    "-Instal it.",
    "+Install it.",
    "diff --git a/docs/logo.png b/docs/logo.png",
    "Binary files /dev/null and b/docs/logo.png differ",
  ].join("\n"),
  isCut: false,
};
const LONG = {
  ...DIFF,
  diff: [
    ...DIFF.diff.split("\n").slice(0, 7),
    ...Array.from({ length: 100 }, (_, n) => `+line ${n}`),
    ...DIFF.diff.split("\n").slice(7),
  ].join("\n"),
};
const TITLE = `*Changes in acme/docs#7 (${PR}):* 2 files, +1 −1`;
const SENT = "I sent you the raw change as `docs-7.diff` in a direct message.";
const DIFFS = { jobService: { level: 1 } } satisfies WorldOptions;

function actionsOf({ blocks = [] }: Pick<SlackMessage, "blocks">): string[] {
  return blocks.flatMap((block) =>
    block.type === "actions"
      ? block.elements.flatMap((element) => ("action_id" in element ? (element.action_id ?? []) : []))
      : [],
  );
}

/** A thread whose agent has changed this; its root, and its outcome. */
async function changed(world: World, diff: object | null = DIFF) {
  const root = await done(world);
  if (diff !== null) world.service.diffs.set(jobOf(world), diff);
  const [outcome] = world.replies(DOCS, root.ts);
  if (outcome === undefined) throw new Error("there is no outcome");
  const [shown] = world.slack.messages(DOCS);
  return { root: shown ?? root, outcome };
}

async function press(world: World, who: string, message: SlackMessage) {
  const act = { channel: DOCS, messageTs: message.ts, actionId: SHOW };
  const { delivery, status } = await world.slack.person(who).click(act);
  expect(status).toBe(200);
  return delivery;
}

/** What a person alone reads in answer to a press. */
async function answer(world: World, who: string, message: SlackMessage): Promise<string[]> {
  const before = world.slack.ephemerals(who).length;
  await press(world, who, message);
  await world.until(() => world.slack.ephemerals(who).length > before);
  await world.settle();
  return world.slack
    .ephemerals(who)
    .slice(before)
    .map((shown) => world.slack.visibleText(shown));
}

/** The files in a person's direct messages, and what stands beside them. */
function filesFor(world: World, who: string) {
  return world.slack
    .dm(who)
    .flatMap(({ text, files = [] }) =>
      files.map(({ name, content }) => ({ text, name, content: content.toString() })),
    );
}

it("shows the changed words to whoever presses the button under the outcome, and sends the raw change", async () => {
  await using world = await World.start(DIFFS);
  const { root, outcome } = await changed(world);
  expect(actionsOf(outcome)).toEqual(["view_pull_request", SHOW]);
  expect(actionsOf(root)).toEqual([]);
  const shown = [
    TITLE,
    "docs/install.md",
    "Install",
    "Instal → Install",
    "docs/logo.png: not text",
    SENT,
  ].join("\n");
  expect(await answer(world, BEN, outcome)).toEqual([shown]);
  expect(filesFor(world, BEN)).toEqual([
    { text: `The raw change in <${PR}|acme/docs#7>.`, name: "docs-7.diff", content: DIFF.diff },
  ]);
  expect(world.slack.dm(ANA)).toEqual([]);
  expect(await answer(world, ANA, outcome)).toEqual([shown]);
  expect(world.slack.ephemerals(BEN).map(({ thread_ts }) => thread_ts)).toEqual([root.ts]);
  expect(world.replies(DOCS, root.ts)).toHaveLength(1);
});

it("sends the file to the one who asked, once", async () => {
  await using world = await World.start(DIFFS);
  const { outcome } = await changed(world, LONG);
  // The file is there already when Slack can't show the message.
  world.slack.faults.add({
    method: "chat.postEphemeral",
    times: 1,
    fault: { kind: "ratelimited", retryAfterS: 2 },
  });
  await press(world, BEN, outcome);
  await world.until(() => world.slack.ephemerals(BEN).length === 1);
  const [shown = ""] = world.slack.ephemerals(BEN).map((each) => world.slack.visibleText(each));
  expect(shown.split("\n").at(-1)).toBe(SENT);
  expect(filesFor(world, BEN).map(({ content }) => content)).toEqual([LONG.diff]);
  expect(world.slack.dm(ANA)).toEqual([]);
});

it.each([
  ["the app may not send files", { withoutScopes: ["files:write"] }, null],
  ["Slack takes no file", {}, "files.getUploadURLExternal"],
  ["the file doesn't arrive", {}, "upload"],
  ["Slack shares no file", {}, "files.completeUploadExternal"],
])("goes on with the raw change if %s", { tags: "all" }, async (_, options, method) => {
  await using world = await World.start({ ...DIFFS, ...options });
  const { outcome } = await changed(world, LONG);
  if (method !== null) world.slack.faults.add({ method, fault: { kind: "http", status: 500 } });
  const [shown = ""] = await answer(world, BEN, outcome);
  const lines = shown.split("\n");
  expect(lines.slice(0, 5)).toEqual([
    TITLE,
    "docs/install.md",
    "Install",
    expect.stringMatching(/^Instal it\. → Install it\. line 0/),
    "docs/logo.png: not text",
  ]);
  expect(lines).toContain("+line 33");
  expect(lines.at(-1)).toBe(`The rest is on the page of acme/docs#7 (${PR}).`);
  expect(world.slack.dm(BEN)).toEqual([]);
});

it("shows what isn't a diff of git as it is", { tags: "all" }, async () => {
  await using world = await World.start({ ...DIFFS, withoutScopes: ["files:write"] });
  const { outcome } = await changed(world, { ...DIFF, diff: "+Install it." });
  expect(await answer(world, BEN, outcome)).toEqual([
    [TITLE, "+1 −1 docs/install.md", "docs/logo.png (added)", "+Install it."].join("\n"),
  ]);
});

it("shows hostile words as they are, and mentions nobody", async () => {
  await using world = await World.start(DIFFS);
  const path = "docs/<!channel>\u202e`*_.md";
  const hostile = `<!channel> <@${ANA}> \`\`\` \u202e\u0007 <https://evil.example|x>`;
  const { outcome } = await changed(world, {
    files: Array.from({ length: 300 }, () => ({ path, status: "removed", additions: 0, deletions: 1 })),
    fileCount: 10_000,
    diff: [
      `diff --git a/${path} b/${path}`,
      "@@ -1 +1 @@ # <!here> \u202e",
      `+${hostile}`,
      ` context`,
      `-${"x".repeat(60_000)}`,
      `+${"y ".repeat(60_000)}`,
      ...Array.from({ length: 100 }, (_, n) => `-${n}\n+${n} <!everyone>\n and`),
    ].join("\n"),
    isCut: true,
  });
  const [shown = ""] = await answer(world, BEN, outcome);
  expect(shown).toContain(`<!here> \uFFFD`);
  expect(shown).toContain(`added: “<!channel> <@${ANA}> \`\`\` \uFFFD\uFFFD`);
  expect(shown).toContain("… and 72 more changes\n… and 9,999 more pages");
  expect(shown.split("\n").at(-1)).toContain(`${SENT} The rest is on`);
  expect(Math.max(...shown.split("\n").map(({ length }) => length))).toBeLessThan(200);
  expect(world.slack.ephemerals().flatMap(({ mentions }) => mentions)).toEqual([]);
  expect(filesFor(world, BEN)[0]?.content).not.toMatch(/\p{Bidi_Control}/u);
});

it("says so if the agent no longer has the change, or can't be asked", async () => {
  await using world = await World.start(DIFFS);
  const { outcome } = await changed(world, null);
  expect(await answer(world, BEN, outcome)).toEqual([
    `The agent no longer has this change. Look at acme/docs#7 (${PR}).`,
  ]);
  world.service.faults.add({ op: "diff", times: 1, fault: { kind: "status", status: 401 } });
  expect(await answer(world, BEN, outcome)).toEqual([
    "I couldn't read the changes. Try again in a minute, or contact your Docs Agent admin.",
  ]);
});

it("asks a busy service again for half a minute", async () => {
  await using world = await World.start(DIFFS);
  const { outcome } = await changed(world);
  world.service.faults.add({
    op: "diff",
    times: 2,
    fault: { kind: "status", status: 503, headers: { "retry-after": "5" } },
  });
  const shownTo = (who: string) =>
    world.slack.ephemerals(who).map((message) => world.slack.visibleText(message));
  await press(world, BEN, outcome);
  await world.pass(MINUTE_MS);
  // It is said at once that the button works.
  expect(shownTo(BEN)).toEqual(["⏳ Reading the changes…", expect.stringContaining("Instal → Install")]);
  world.service.faults.add({
    op: "diff",
    fault: { kind: "status", status: 503, headers: { "retry-after": "5" } },
  });
  await press(world, ANA, outcome);
  await world.pass(MINUTE_MS);
  expect(shownTo(ANA)).toEqual([
    "⏳ Reading the changes…",
    expect.stringContaining("I couldn't read the changes."),
  ]);
});

it("says that it takes a moment, once, while the service reads", async () => {
  await using world = await World.start(DIFFS);
  const { outcome } = await changed(world);
  const reads = Promise.withResolvers<void>();
  world.service.onCall((phase, { op }) => (op === "diff" && phase === "before" ? reads.promise : undefined));
  await press(world, BEN, outcome);
  await vi.waitUntil(() => world.service.calls.some(({ op }) => op === "diff"), PATIENT);
  world.clock.advance(3000);
  await world.slack.until(() => world.slack.ephemerals(BEN).length === 1);
  reads.resolve();
  await world.until(() => world.slack.ephemerals(BEN).length === 2);
  const [first = "", second = ""] = world.slack.ephemerals(BEN).map((each) => world.slack.visibleText(each));
  expect(first).toBe("⏳ Reading the changes…");
  expect(second).toContain("Instal → Install");
});

it("shows it to no guest, and once for a press that Slack sends twice", async () => {
  await using world = await World.start(DIFFS);
  const { outcome } = await changed(world);
  world.slack.workspace.addUser({ id: "U0GUS", name: "gus", guest: "multi-channel" });
  world.slack.workspace.invite(DOCS, "U0GUS");
  const [refused = ""] = await answer(world, "U0GUS", outcome);
  expect(refused).toContain("only members of this workspace");
  const delivery = await press(world, BEN, outcome);
  await world.slack.redeliver(delivery, { retryNum: 1 });
  await world.until(() => world.slack.ephemerals(BEN).length > 0);
  await world.pass(MINUTE_MS);
  expect(world.slack.ephemerals(BEN)).toHaveLength(1);
  expect(world.service.calls.filter(({ op }) => op === "diff")).toHaveLength(1);
});

it("has no button where the service speaks only the contract", async () => {
  await using world = await World.start();
  const { root, outcome } = await changed(world);
  expect(actionsOf(outcome)).toEqual(["view_pull_request"]);
  expect(actionsOf(root)).toEqual([]);
});
