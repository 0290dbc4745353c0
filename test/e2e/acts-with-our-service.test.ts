import { Octokit } from "@octokit/rest";
import { expect, it } from "vitest";
import { startBoth } from "../support/both-programs.ts";
import { commitTo } from "../support/commit-to.ts";
import { openSite } from "../support/site.ts";
import { ANA, BEN, DOCS } from "../support/world.ts";
import { QUIET } from "../world/code-host/setup.ts";

const PAGE = "docs/quickstart.md";
const WORDS = "write the quickstart";
/** Enough for real programs on a busy machine, and for news that wait a minute for more of their kind. */
const PATIENCE_MS = 120_000;
const TEST_MS = 4 * PATIENCE_MS;
const SHORTLY = { codeHost: { pollSeconds: 5 } };

/**
 * An agent that writes three lines at first, keeps both sides of a conflict, does what the comments
 * of a review say, except for one, fixes what a check found, and adds a line to what it did before.
 */
const AGENT = `
import { readFileSync, writeFileSync } from "node:fs";
const told = readFileSync(0, "utf8");
const page = (...lines) => writeFileSync("${PAGE}", ["# Quickstart", ...lines].join("\\n\\n") + "\\n");
const answers = /\`([^\`]*answers\\.json)\`/.exec(told)?.[1];
if (told.includes("Resolve these conflicts")) page("Needs Node 24.", "Install it.", "Run it.", "Look at it.");
else if (told.includes('"links" failed')) page("[Install](install.md) it.", "Run it.", "Look at it.");
else if (told.includes("Comment 3")) {
  page("Install it.", "Start it.", "Look at it.");
  writeFileSync(answers, JSON.stringify([
    { comment: 1, changed: false, words: "The page is for everybody." },
    { comment: 2, changed: true, words: "Says start now." },
    { comment: 3, changed: false, words: "It is shown there." },
  ]));
} else if (told.includes("Earlier in this job")) page("Install it.", "Run it.", "Look at it.", "Ask us.");
else page("Install it.", "Run it.", "Look at it.");
console.log("Write the quickstart");
`;

/** The programs with the pull request that Ana asked for. Mira reviews. */
async function startLinked(options: Parameters<typeof startBoth>[1] = { settings: SHORTLY }) {
  const both = await startBoth(AGENT, options);
  const { docs, slack } = both;
  const { codeHost } = docs;
  codeHost.tokens.add({ token: "mira-token-0123456789", login: "mira" });
  const auth = "mira-token-0123456789";
  const mira = new Octokit({ auth, baseUrl: codeHost.apiUrl, log: QUIET }).rest;
  const pullRequests = codeHost.repository("acme", "docs");
  const posts = () => slack.messages(DOCS);
  const text = (post = posts()[0]) => (post === undefined ? "" : slack.visibleText(post));
  /** Waits for what there is to find, and tells what there is if it doesn't come. */
  async function until<T>(find: () => T | undefined): Promise<T> {
    try {
      return await slack.until(find, PATIENCE_MS);
    } catch {
      throw new Error(`It isn't among these posts:\n${posts().map(text).join("\n\n")}`);
    }
  }
  const found = (start: string) => until(() => posts().find((post) => text(post).startsWith(start)));
  await slack.person(ANA).command({ channel: DOCS, text: WORDS });
  await found("✅ @Ana Your pull request is ready:");
  return {
    ...both,
    mira,
    pull: { owner: "acme", repo: "docs", pull_number: 1 },
    pullRequests,
    /** The first post that starts like this, once it is there. */
    found,
    text,
    /** Resolves when the thread's first message has this line, without its link. */
    stands: (line: string) =>
      until(() =>
        text()
          .replaceAll(/ \(http[^)]*\)/g, "")
          .split("\n")
          .includes(line)
          ? line
          : undefined,
      ),
    press: async (who: string, post: ReturnType<typeof posts>[number], actionId: string) => {
      const click = { channel: DOCS, messageTs: post.ts, actionId };
      expect((await slack.person(who).click(click)).status).toBe(200);
    },
    async pageOnBranch(): Promise<string[]> {
      const branch = pullRequests.find(1)?.head ?? "";
      const texts = await pullRequests.repository.texts(`refs/heads/${branch}`, /quickstart/);
      return (texts.get(PAGE) ?? "").split("\n").filter((line) => line !== "");
    },
  };
}

it(
  "conflicts are told to Ana, Update it resolves them, and the review is waited for again",
  { timeout: TEST_MS },
  async () => {
    await using both = await startLinked();
    const { pullRequests, found, press, stands, text } = both;
    await commitTo(pullRequests.repository.path, "main", { [PAGE]: "# Quickstart\n\nNeeds Node 24.\n" });
    await pullRequests.followBranches();
    const told = await found("⚠️ @Ana acme/docs#1");
    expect(text(told)).toMatch(/ conflicts with main\.\n\[Update it\]$/);
    await stands("⚠️ Conflicts with main: acme/docs#1");
    await press(BEN, told, "update_pull_request");
    const updated = await found("✅ @Ben The agent updated acme/docs#1");
    expect(text(updated).split("\n")[1]).toBe("Merged main into the branch");
    expect(text(updated)).toContain("The agent resolved conflicts in docs/quickstart.md.");
    await stands("👀 Waiting for review: acme/docs#1");
    const lines = ["# Quickstart", "Needs Node 24.", "Install it.", "Run it.", "Look at it."];
    expect(await both.pageOnBranch()).toEqual(lines);
    expect(await both.docs.pullRequests()).toBe(1);
  },
);

it(
  "a review of three comments: Make these changes answers each, then it is approved, merged and live",
  { tags: "all", timeout: TEST_MS },
  async () => {
    await using site = await openSite();
    const settings = { ...SHORTLY, liveUrl: `${site.url}/{docs/path}` };
    await using both = await startLinked({ settings, httpOrigins: [site.url] });
    const { found, mira, press, pull, pullRequests, stands, text } = both;
    const comments = ["For whom?", "Say start.", "Where?"].map((body, at) => ({
      path: PAGE,
      line: 3 + 2 * at,
      body,
    }));
    await mira.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Nearly.", comments });
    const asked = await found("✏️ @Ana mira asks for changes in acme/docs#1");
    expect(text(asked).split("\n").slice(1)).toEqual([
      "Nearly.",
      `• ${PAGE}:3: For whom?`,
      `• ${PAGE}:5: Say start.`,
      `• ${PAGE}:7: Where?`,
      "[Make these changes]",
    ]);
    await press(ANA, asked, "make_changes");
    await found("✅ @Ana The agent updated acme/docs#1");
    await stands("👀 Waiting for review: acme/docs#1");
    const { reviewers, lineComments } = pullRequests.find(1) ?? {};
    expect(reviewers).toEqual(["mira"]);
    const replies = lineComments?.filter(({ inReplyTo }) => inReplyTo !== null) ?? [];
    expect(
      replies.map(({ author, body }) => [author, body.replace(/ ?\([0-9a-f]{7}\)|\n[^]*/g, "")]),
    ).toEqual([
      [expect.any(String), "Not changed: The page is for everybody."],
      [expect.any(String), "Changed: Says start now."],
      [expect.any(String), "Not changed: It is shown there."],
    ]);
    await mira.pulls.createReview({ ...pull, event: "APPROVE" });
    await stands("✅ Approved: acme/docs#1");
    await mira.pulls.merge(pull);
    await found("🎉 @Ana acme/docs#1");
    site.pages["/quickstart"] = "<p>Install it.</p><p>Start it.</p><p>Look at it.</p>";
    await stands(`Live: ${site.url.replace("http://", "")}/quickstart`);
  },
);

it(
  "the same words again: Add to it makes a follow-up of them, and no other pull request",
  { timeout: TEST_MS },
  async () => {
    await using both = await startLinked();
    const { docs, found, slack, stands } = both;
    await stands("👀 Waiting for review: acme/docs#1");
    await slack.person(BEN).command({ channel: DOCS, text: WORDS });
    const offered = await slack.until(() => slack.ephemerals(BEN).at(-1), PATIENCE_MS);
    const shown = slack.visibleText(offered);
    expect(shown).toContain("There's already a pull request for this: acme/docs#1");
    expect(shown).toContain("[Add to it] [Follow it] [Start another]");
    const click = { channel: DOCS, messageTs: offered.ts, ephemeral: true, actionId: "add_to_it" };
    await slack.person(BEN).click(click);
    const added = await found("✅ @Ben The agent updated acme/docs#1");
    expect(added.thread_ts).toBe(slack.messages(DOCS)[0]?.ts);
    expect(await both.pageOnBranch()).toContain("Ask us.");
    expect(await docs.pullRequests()).toBe(1);
  },
);

it(
  "a failing check: Let the agent fix it gives the agent its words, and then it passes",
  { timeout: TEST_MS },
  async () => {
    await using both = await startLinked();
    const { docs, found, press, pullRequests, stands, text } = both;
    const setCheck = async (result: "passed" | "failed", summary: string) => {
      const head = (await pullRequests.repository.branchSha(pullRequests.find(1)?.head ?? "")) ?? "";
      await docs.codeHost.setCheck("acme", "docs", { sha: head, name: "links", result, summary });
    };
    await setCheck("failed", "docs/install.md isn't linked");
    const failed = await found('❌ @Ana "links" failed on acme/docs#1');
    expect(text(failed).split("\n").slice(1)).toEqual([
      "docs/install.md isn't linked",
      expect.stringMatching(/^See the check \(http.*\)$/),
      "[Let the agent fix it]",
    ]);
    await stands("❌ Checks failed: acme/docs#1");
    await press(BEN, failed, "fix_checks");
    await found("✅ @Ben The agent updated acme/docs#1");
    expect(await both.pageOnBranch()).toContain("[Install](install.md) it.");
    await setCheck("passed", "");
    await stands("👀 Waiting for review: acme/docs#1");
  },
);
