import { expect, it, vi } from "vitest";
import { startBoth } from "../support/both-programs.ts";
import { PATIENT } from "../support/patient.ts";
import { ANA, BEN, DOCS } from "../support/world.ts";

const SCRIPT = [
  { tool: "Edit docs/quickstart.md" },
  { write: "./docs/quickstart.md", content: "# Quickstart\n\nnpm install acme\n" },
  // Noted in a second file, which grows with each turn.
  { offered: true },
  { say: "Add the install command\n\nThe quickstart had none." },
];

it("between Slack and our own job service, the thread says what the agent does and said, also to follow-ups", async () => {
  let finish = () => {};
  const mayFinish = new Promise<void>((resolve) => (finish = resolve));
  await using both = await startBoth(SCRIPT, {
    async hook(phase, what) {
      if (phase === "before" && what.endsWith("/git-receive-pack")) await mayFinish;
      return false;
    },
  });
  const { docs, slack, baseUrl, app } = both;

  expect((await slack.person(ANA).command({ channel: DOCS, text: "name the install command" })).status).toBe(
    200,
  );
  const status = () => slack.messages(DOCS).map((message) => slack.visibleText(message))[0] ?? "";
  await slack.until(() => /🔧 Pushing \d changed files?$/m.test(status()), 30_000);
  finish();
  const reply = await slack.until(() => slack.messages(DOCS)[1], 30_000);
  expect(slack.visibleText(reply).split("\n")).toEqual([
    "✅ @Ana Your pull request is ready:",
    "Add the install command",
    "docs/answers.md (new, +1)",
    "docs/quickstart.md (+2 −0)",
    "The quickstart had none.",
    "2 files, +3 −0",
    "[View pull request] [Show changes]",
  ]);
  expect(reply.mentions).toEqual([`@${ANA}`]);
  // The service may have looked at the pull request before anybody sees the outcome's own line.
  const linked = /^(?:✅ |👀 Waiting for review.*: )acme\/docs#1 \(http.*\/pull\/1\)/m;
  await slack.until(() => linked.test(status()), 20_000);

  const privately = () => slack.ephemerals(BEN).map((message) => slack.visibleText(message).split("\n"));
  const press = () =>
    slack.person(BEN).click({ channel: DOCS, messageTs: reply.ts, actionId: "show_changes" });
  await press();
  // On a slow machine it says first that it is reading the changes, or asks to try again.
  let refusals = 0;
  const changes = await vi.waitUntil(async () => {
    const asked = privately().filter(([first = ""]) => first.endsWith("Try again in a minute."));
    if (asked.length > refusals) await press();
    refusals = asked.length;
    return privately().find(([first = ""]) => first.startsWith("*"));
  }, PATIENT);
  expect(changes[0]).toMatch(/^\*Changes in acme\/docs#1 .+:\* 2 files, \+3 −0$/);
  expect(changes).toContain("docs/answers.md: new page, 1 line");

  const root = slack.messages(DOCS)[0]?.ts ?? "";
  const mention = (text: string) => slack.person(BEN).mention({ channel: DOCS, threadTs: root, text });
  const replies = () =>
    slack
      .thread(DOCS, root)
      .filter(({ bot_id }) => bot_id !== undefined)
      .map((message) => slack.visibleText(message).split("\n"));
  expect((await mention("the same in the FAQ")).status).toBe(200);
  await slack.until(() => replies().at(-1)?.[0]?.startsWith("✅ @Ben") === true, 30_000);
  expect(replies().at(-1)).toEqual([
    expect.stringMatching(/^✅ @Ben The agent updated acme\/docs#1 \(http:.*\/acme\/docs\/pull\/1\):$/),
    "Add the install command",
    "docs/answers.md (new, +2)",
    "docs/quickstart.md (+2 −0)",
    "The quickstart had none.",
    "2 files, +4 −0",
    "[View pull request] [Show changes]",
  ]);

  const jobId = /"job_id":"(job-\w+)"/.exec(app.stdout)?.[1] ?? "";
  const archived = await fetch(`${baseUrl}/v2/agent/docs/job/${jobId}/archive`, {
    method: "POST",
    headers: { authorization: `Bearer ${docs.apiKey}` },
  });
  expect(archived.status).toBe(200);
  expect((await mention("and the glossary")).status).toBe(200);
  await slack.until(() => replies().length === 5, 30_000);
  expect(replies()[3]?.[0]).toBe("That request is closed, so I started a new one.");
  expect(replies()[4]?.[0]).toBe("✅ @Ben Your pull request is ready:");
}, 120_000);

it(
  "an answer stands in the thread, and a follow-up makes a change of it, with its sources",
  { tags: "all", timeout: 120_000 },
  async () => {
    await using both = await startBoth(`
    import { readFileSync, writeFileSync } from "node:fs";
    if (!readFileSync(0, "utf8").includes("then document it")) console.log("Yes, since 2.0.\\n\\nIt isn't in \`docs/quickstart.md\`.");
    else {
      writeFileSync("docs/quickstart.md", "# Quickstart\\n\\nUse --json.\\n");
      const page = "docs/quickstart.md";
      const claims = ["export const options = ['--json']", "export const others"].map((quote) =>
        ({ page, statement: "Use --json", source: { repository: "docs", path: "src/cli.ts", line: 1, quote } }));
      writeFileSync(process.env.DOCS_AGENT_CLAIMS ?? process.env.TMPDIR + "/claims.json", JSON.stringify(claims));
      console.log("Document --json");
    }`);
    const { docs, slack } = both;
    await slack.person(ANA).command({ channel: DOCS, text: "does the CLI support --json?" });
    const said = (n: number) => {
      const message = slack.messages(DOCS)[n];
      return message === undefined ? [] : slack.visibleText(message).split("\n");
    };
    await slack.until(() => said(1).length > 0, 30_000);
    expect(said(1)).toEqual(["💬 @Ana", "Yes, since 2.0.", "", "It isn't in docs/quickstart.md."]);
    await slack.until(() => said(0).at(-1) === "💬 Answered", 20_000);
    expect((await docs.published()).pulls).toEqual([]);

    const threadTs = slack.messages(DOCS)[0]?.ts ?? "";
    await slack.person(BEN).mention({ channel: DOCS, threadTs, text: "then document it" });
    const replies = () => slack.thread(DOCS, threadTs).map((message) => slack.visibleText(message));
    const changed = await slack.until(() => replies().find((text) => text.startsWith("✅ @Ben")), 30_000);
    expect(changed.split("\n")).toEqual([
      "✅ @Ben Your pull request is ready:",
      "Document --json",
      "docs/quickstart.md",
      "1 file, +2 −0 · Sources: 1 of 2 found",
      "[View pull request] [Show changes]",
    ]);
    expect(await docs.pageOfJob("docs/quickstart.md")).toContain("Use --json.");
  },
);

it(
  "an agent asks: the question is in the thread, and the answers reach the agent, also after the app was killed",
  { tags: "nightly", timeout: 120_000 },
  async () => {
    const page = { type: "string", enum: ["install.md", "faq.md"] };
    const elicit = (message: string, field: object) => ({
      elicit: { message, requestedSchema: { type: "object", properties: { answer: field } } },
    });
    const script = [
      elicit("Which page?", page),
      elicit("And what should it say?", { type: "string" }),
      { say: "Add the answers" },
    ];
    await using both = await startBoth(script, { permissions: "ask" });
    const { docs, slack, app } = both;
    await slack.person(ANA).command({ channel: DOCS, text: "improve the docs" });
    const said = (n: number) => {
      const message = slack.messages(DOCS)[n];
      return message === undefined ? [] : slack.visibleText(message).split("\n");
    };
    await slack.until(() => said(1).at(-1) === "[install.md] [faq.md]", 30_000);
    expect(said(1)).toEqual(["💬 @Ana The agent asks:", "Which page?", "[install.md] [faq.md]"]);
    await slack.until(() => said(0).includes("💬 Waiting for an answer"), 20_000);

    await app.kill();
    await both.startApp();
    const messageOf = (n: number) => ({ channel: DOCS, messageTs: slack.messages(DOCS)[n]?.ts ?? "" });
    await slack.person(BEN).click({ ...messageOf(1), actionId: "answer_choice_1" });
    await slack.until(() => said(1).at(-1) === "@Ben answered: faq.md", 20_000);
    await slack.until(() => said(2).at(-1) === "[Answer…]", 20_000);
    await slack.person(ANA).click({ ...messageOf(2), actionId: "answer_in_words" });
    const form = await slack.until(() => slack.openViews(ANA)[0]);
    await slack.person(ANA).submit({ viewId: form.id, values: { answer: { answer: "That it is free" } } });
    await slack.until(() => said(2).at(-1) === "@Ana answered: That it is free", 20_000);
    await slack.until(() => said(3)[0]?.startsWith("✅ @Ana"), 30_000);
    expect(slack.messages(DOCS)).toHaveLength(4);
    expect((await docs.pageOfJob("docs/answers.md")).match(/"answer":"[^"]+"/g)).toEqual([
      '"answer":"faq.md"',
      '"answer":"That it is free"',
    ]);
  },
);

it(
  "Stop reaches the agent of our own job service, and the thread says who stopped it",
  { tags: "nightly", timeout: 120_000 },
  async () => {
    await using both = await startBoth([{ tool: "Read docs/faq.md" }, { hang: true }]);
    const { slack } = both;
    await slack.person(ANA).command({ channel: DOCS, text: "fix the FAQ" });
    const texts = () => slack.messages(DOCS).map((message) => slack.visibleText(message));
    await slack.until(() => texts()[0]?.includes("Read docs/faq.md"), 30_000);
    const root = slack.messages(DOCS)[0]?.ts ?? "";
    await slack.person(BEN).click({ channel: DOCS, messageTs: root, actionId: "stop_turn" });
    await slack.until(() => texts().length === 2 && texts()[0]?.endsWith("⏹️ Stopped"), 30_000);
    expect(texts()[1]?.split("\n").slice(0, 2)).toEqual([
      "⏹️ @Ben stopped the agent, @Ana.",
      "No pull request was opened.",
    ]);
  },
);

it(
  "a pull request shows nothing of the Slack thread that it came from but its requester's own words",
  { tags: "nightly", timeout: 120_000 },
  async () => {
    await using both = await startBoth([
      { write: "./docs/quickstart.md", content: "# Quickstart\n\nNew\n" },
      // Noted in a second file, which grows with each turn.
      { offered: true },
    ]);
    const { docs, slack } = both;
    const marks = ["zebra in the root", "ocelot in a reply", "lynx in another thread"];
    const root = slack.workspace.say({ channel: DOCS, user: BEN, text: `the ${marks[0]}` });
    slack.workspace.say({ channel: DOCS, user: BEN, text: `an ${marks[1]}`, threadTs: root.ts });
    const formOn = async (messageTs: string) => {
      await slack.person(ANA).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs });
      return slack.until(() => {
        const open = slack.openViews(ANA).at(-1);
        return JSON.stringify(open?.view ?? "Reading the thread").includes("Reading the thread")
          ? undefined
          : open;
      });
    };
    const replies = () =>
      slack.messages(DOCS).filter((message) => slack.visibleText(message).includes("✅ @"));

    await slack.person(ANA).submit({ viewId: (await formOn(root.ts)).id });
    await slack.until(() => replies().length === 1, 30_000);
    const other = slack.workspace.say({ channel: DOCS, user: BEN, text: `the ${marks[2]}` });
    const form = await formOn(other.ts);
    const values = { instructions: { instructions: "name the new host" } };
    await slack.person(ANA).submit({ viewId: form.id, values });
    await slack.until(() => replies().length === 2, 30_000);
    await slack.person(BEN).mention({ channel: DOCS, threadTs: other.ts, text: "and the old one" });
    await slack.until(() => replies().length === 3, 30_000);

    const published = await docs.published();
    expect(published.pulls.map(({ title }) => title)).toEqual([
      "name the new host; and the old one",
      "Update answers and quickstart",
    ]);
    const quotes = published.pulls.map(({ body }) => body.split("\n").filter((line) => line.startsWith(">")));
    expect(quotes).toEqual([["> name the new host", "> and the old one"], []]);
    const text = JSON.stringify(published);
    for (const foreign of [...marks, "Ben", "Ana", "/archives/", "Quoted", "quoted material", "C0DOCS"]) {
      expect(text).not.toContain(foreign);
    }
  },
);
