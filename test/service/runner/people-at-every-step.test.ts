import { Octokit } from "@octokit/rest";
import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import type { RunTurnResult } from "../../../src/service/runner/runner.ts";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { atNight } from "../../support/nightly.ts";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";
import { isSampled } from "../../support/sampled.ts";
import { QUIET } from "../../world/code-host/setup.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;
type Turn = (typeof TURNS)[number];
type Act = (typeof ACTS)[number];

const BRANCH = "docs-agent/job1";
const PAGE = "docs/quickstart.md";
const LINES = ["# Quickstart", "Instal it.", "One.", "Two.", "Run it.", "Three.", "Four.", "Bye."];
const START = LINES.join("\n\n");
const MIRA = { token: "mira-token-0123456789", login: "mira" };
const PULL = { owner: "acme", repo: "docs", pull_number: 1 };
/** A turn looks for what it pushed so long, and servers may take it to show it. */
const UNSEEN_MS = 60_000;

/** By day, a person acts before one in so many requests, others each day. */
const EVERY = atNight([1], [4])[0] ?? 1;

const TURNS = ["an update", "an update with conflicts", "an answer to a review"] as const;
const ACTS = ["pushes a commit", "force-pushes something else", "deletes the branch"] as const;

/** Fixes a typo, resolves the conflict that is there, or does what a review says. */
const AGENT = inlineAgent(`
  const told = fs.readFileSync(0, "utf8");
  const text = fs.readFileSync("${PAGE}", "utf8");
  const [, answers] = /\`([^\`]*answers\\.json)\`/.exec(told) ?? [];
  const fixed = text.replace("Instal it", "Install it").replace(/<{7}[^]*?>{7}.*\\n/, "Install it now.\\n");
  if (answers) fs.writeFileSync(answers, '[{"comment":1,"changed":true,"words":"Says start."}]');
  fs.writeFileSync("${PAGE}", answers ? text.replace("Run it", "Start it") : fixed);
  console.log("Mend the quickstart");
`);
/** What the turn leaves in the page. */
const DONE = {
  "an update": /^Install it\.$/m,
  "an update with conflicts": /^Install it now\.$/m,
  "an answer to a review": /^Start it\.$/m,
} as const satisfies Record<Turn, RegExp>;

async function openWorld(turn: Turn) {
  const clock = new LaterClock();
  const files = { "README.md": "# Docs\n", [PAGE]: START };
  const world = await openRunnerWorld({ containment: "none", clock, files });
  const { codeHost } = world;
  expect(await world.run(world.project(AGENT))).toMatchObject({ kind: "pull-request" });
  codeHost.tokens.add(MIRA);
  const mira = new Octokit({ auth: MIRA.token, baseUrl: codeHost.apiUrl, log: QUIET }).rest;
  if (turn === "an update") await world.commitTo("main", { "docs/faq.md": "# FAQ\n" }, "FAQ");
  if (turn === "an update with conflicts") {
    await world.commitTo("main", { [PAGE]: START.replace("Instal it.", "Instal it now.") }, "Now");
  }
  if (turn === "an answer to a review") {
    const comments = [{ path: PAGE, line: 3, body: "Say start, below." }];
    await mira.pulls.createReview({ ...PULL, event: "REQUEST_CHANGES", body: "Almost.", comments });
  }
  return { ...world, clock, mira };
}

/** Does this as a person. Resolves to their commit, or null if nothing of theirs is to be kept. */
async function act(world: World, what: Act): Promise<string | null> {
  const theirs = { "docs/theirs.md": "Theirs\n" };
  switch (what) {
    case "pushes a commit": {
      const page = await world.show(PAGE, BRANCH);
      return world.commitTo(BRANCH, { ...theirs, [PAGE]: `${page}\n`.replace("Bye.", "So long.") }, "Theirs");
    }
    case "force-pushes something else":
      await world.inBare("update-ref", `refs/heads/${BRANCH}`, "refs/heads/main");
      return world.commitTo(BRANCH, theirs, "Theirs");
    case "deletes the branch":
      await world.inBare("update-ref", "-d", `refs/heads/${BRANCH}`);
      return null;
  }
}

/**
 * Runs the turn, as often as the service would. Right before its nth request to git's server or the
 * API, a person does this. `request` is null if the turn doesn't make as many.
 */
async function meanwhile(world: Awaited<ReturnType<typeof openWorld>>, turn: Turn, what: Act, nth: number) {
  const host = world.codeHost.repository("acme", "docs");
  let seen = 0;
  let request: string | null = null;
  let theirs: string | null = null;
  let isPushed = false;
  const before = async (made: string) => {
    seen += 1;
    if (seen === nth) {
      request = made;
      // A code host takes in what was pushed before anybody can see it.
      await host.followBranches();
      theirs = await act(world, what);
      await host.followBranches();
    }
    if (seen < nth) isPushed ||= made.startsWith("POST") && made.endsWith("git-receive-pack");
  };
  world.gitHttp.before = before;
  world.api.before = before;
  const kind = turn === "an answer to a review" ? "address" : "update";
  const earlierTurns = [{ prompt: "Fix the typo", summary: "Mend the quickstart" }];
  const command = turn === "an update" ? ["false"] : AGENT;
  let result: RunTurnResult | null = null;
  for (let attempt = 1; result === null; attempt += 1) {
    try {
      result = await world.run(world.project(command), { kind, prompt: "Go", words: null, earlierTurns });
    } catch (error) {
      if (!(error instanceof TransientRunError) || attempt === 4) throw error;
      world.clock.laterMs += UNSEEN_MS;
    }
  }
  world.gitHttp.before = undefined;
  world.api.before = undefined;
  return { result, request, theirs, isPushed };
}

it.each(TURNS.flatMap((turn) => ACTS.map((what) => [turn, what] as const)))(
  "%s: a person %s before any of its requests, and nothing of theirs is lost",
  { tags: "all", timeout: 900_000 },
  async (turn, what) => {
    let nth = 1;
    for (let isOver = false; !isOver; nth += 1) {
      if (!isSampled(nth, EVERY)) continue;
      await using world = await openWorld(turn);
      const { result, request, theirs, isPushed } = await meanwhile(world, turn, what, nth);
      const when = `before request ${nth}, ${request}: ${JSON.stringify(result)}`;
      isOver = request === null;
      if (isOver) continue;
      const { data: comments } = await world.mira.pulls.listReviewComments(PULL);
      const replies = comments.filter(({ in_reply_to_id: to }) => to !== undefined);
      expect(replies.length, `${when}`).toBeLessThanOrEqual(1);
      if (theirs === null) {
        // Without a branch, the host closes the pull request, and nobody makes another one unasked.
        expect(await world.branches(), `${when}`).toEqual(["main"]);
        expect(world.pulls(), `${when}`).toMatchObject([{ state: "closed" }]);
        if (!isPushed) expect(result, `${when}`).toMatchObject({ kind: "no-changes" });
        continue;
      }
      expect(await world.inBare("merge-base", theirs, BRANCH), `${when}`).toBe(theirs);
      expect(await world.show("docs/theirs.md"), `${when}`).toBe("Theirs");
      const page = await world.show(PAGE);
      if (what === "pushes a commit") expect(page, `${when}`).toMatch(/^So long\.$/m);
      const isDone = DONE[turn].test(page);
      // Whoever replaces the branch after the push takes the turn's work out, and knows it.
      if (what === "pushes a commit" || !isPushed) {
        expect(result.kind === "pull-request", `${when}`).toBe(isDone);
      }
      const [reply] = replies;
      if (reply === undefined || !reply.body.startsWith("Changed")) continue;
      const sha = /\((?<sha>[0-9a-f]{7})\)/.exec(reply.body)?.groups?.["sha"] ?? "";
      expect(await world.inBare("show", `${sha}:${PAGE}`), `${when}`).toMatch(DONE[turn]);
    }
    expect(nth).toBeGreaterThan(8);
  },
);
