import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { SlackMessage } from "../../emulators/slack/index.ts";
import { Surroundings } from "../fixtures/state-899ea2e/format.ts";
import type { ExpectedTurn } from "../fixtures/state-899ea2e/format.ts";
import { readiness } from "../support/app-process.ts";
import { DEFAULT_API_KEY } from "../support/job-service-side.ts";
import { World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const folder = new URL("../fixtures/state-899ea2e/", import.meta.url);
const stateSql = readFileSync(new URL("state.sql", folder), "utf8");
const before = Surroundings.parse(JSON.parse(readFileSync(new URL("surroundings.json", folder), "utf8")));

/** The present app on what version 899ea2e left behind, between a Slack and a job service as they were then. */
function takeOver(afterMs: number): Promise<World> {
  return World.start({
    startMs: before.killedAt + afterMs,
    workspace: structuredClone(before.slack),
    env: { DOCS_AGENT_PROJECTS: JSON.stringify(before.projects.map((name) => ({ name, id: name }))) },
    jobService: {
      projects: Object.fromEntries(before.projects.map((name) => [name, { apiKey: DEFAULT_API_KEY }])),
    },
    prepare({ storePath, service, slack }) {
      // Response URLs of back then lead to this Slack, which no longer takes them.
      const sql = stateSql.replaceAll(before.slackOrigin, new URL(slack.apiUrl).origin);
      const db = new DatabaseSync(storePath);
      db.exec(`BEGIN; ${sql} COMMIT;`);
      db.close();
      for (const job of before.jobs) {
        service.jobs.set(
          job.id,
          structuredClone({ ...job, pollsOfTurn: 0, staleReads: null, turns: [], questions: [] }),
        );
      }
      service.script.completeAfterPolls(2, { prLink: PR });
    },
  });
}

/** How a message's symbol names an outcome; some kinds share one. */
const SYMBOLS: [symbol: string, kinds: string][] = [
  ["✅", "pull-request"],
  ["☑️", "no-changes"],
  ["➖", "no-changes"],
  ["❌", "failed"],
  ["🗄️", "archived"],
  ["⌛", "expired"],
  ["❓", "missing or unknown"],
  ["⛔", "rejected"],
];

function endingIn(text: string): string | null {
  return SYMBOLS.find(([symbol]) => text.includes(symbol))?.[1] ?? null;
}

type Post = { turnId: string; post: string; channelId: string; ending: string | null };

/** Everything the app has posted, in both versions. */
function botPosts({ slack }: World): (Post & { message: SlackMessage })[] {
  return slack.workspace.channels().flatMap(({ id }) =>
    slack
      .messages(id)
      .filter(({ bot_id }) => bot_id === slack.workspace.bot.botId)
      .map((message) => ({
        turnId: String(message.metadata?.event_payload["turn_id"]),
        post: String(message.metadata?.event_payload["post"]),
        channelId: id,
        ending: endingIn(slack.visibleText(message)),
        message,
      })),
  );
}

function expectedPosts({ turnId, posts }: ExpectedTurn): Post[] {
  const lastOutcome = posts.findLast(({ outcome }) => outcome !== null)?.outcome ?? null;
  return posts.map(({ post, channelId, outcome }) => {
    // In the end the status message shows the last outcome, too, wherever it can still be edited.
    const shown = post === "status" && !isArchived(channelId) ? lastOutcome : outcome;
    const ending = shown === "missing" || shown === "unknown" ? "missing or unknown" : shown;
    return { turnId, post, channelId, ending };
  });
}

function isArchived(channelId: string): boolean {
  return before.slack.channels.some((channel) => channel.id === channelId && channel.isArchived);
}

function sceneOf(turnId: string): string {
  const turn = before.turns.find((candidate) => candidate.turnId === turnId);
  return (
    turn?.scene ?? before.notices.find(({ taskId }) => taskId === turnId)?.taskId ?? `unknown: ${turnId}`
  );
}

/** One line a post, so that a difference names the scene. */
function lines(posts: Post[]): string[] {
  return posts
    .map(
      ({ turnId, post, channelId, ending }) =>
        `${sceneOf(turnId)} ${turnId}: ${post} in ${channelId}: ${ending ?? "-"}`,
    )
    .toSorted();
}

describe.each([
  ["at once", 1000],
  ["two hours later", 2 * HOUR_MS],
])(
  "what version 899ea2e left in the middle of its work, taken over %s",
  { timeout: 60_000 },
  (_, afterMs) => {
    it("ends in one outcome for each open turn, says nothing twice, and loses nothing", async () => {
      await using world = await takeOver(afterMs);
      // A restart right after the take-over finds what the first start made of it.
      await world.pass(60_000);
      await world.stopApp();
      await world.startApp();
      for (const { body } of before.forms) {
        const delivery = {
          transport: "http" as const,
          url: `${world.appUrl}/slack/events`,
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body,
        };
        const answers = await Promise.all(
          [1, 2].map(() => world.slack.redeliver(delivery, { resign: true })),
        );
        expect(answers).toMatchObject([
          { status: 200, body: "" },
          { status: 200, body: "" },
        ]);
      }
      await world.pass(6 * HOUR_MS);

      const posts = botPosts(world);
      const notices = posts.filter(({ post }) => post === "notice");
      // Which turns take longer than usual is for another test.
      const ofTurns = posts.filter(({ post }) => post !== "notice" && post !== "overdue");
      expect(lines(ofTurns)).toEqual(lines(before.turns.flatMap(expectedPosts)));

      expect(notices.map(({ turnId }) => turnId).toSorted()).toEqual(
        before.notices.map(({ taskId }) => taskId).toSorted(),
      );
      for (const { taskId, userId } of before.notices) {
        const told = notices.find(({ turnId }) => turnId === taskId);
        expect(world.slack.dm(userId)).toEqual([told?.message]);
      }
      for (const { userId, channelId } of before.whispers) {
        expect(world.slack.ephemerals(userId).map(({ channel }) => channel)).toEqual([channelId]);
      }

      const scenes = (turns: string[]) => turns.toSorted();
      expect(
        scenes(world.service.creates.map(({ prompt }) => /\[([a-z-]+)\]/.exec(prompt)?.[1] ?? prompt)),
      ).toEqual(
        scenes(before.turns.flatMap(({ scene, creates }) => Array.from({ length: creates }, () => scene))),
      );
      expect(world.service.calls.filter(({ op }) => op === "create")).toHaveLength(
        world.service.creates.length,
      );
    });

    it("leaves alone what was given up", async () => {
      await using world = await takeOver(afterMs);
      await world.pass(6 * HOUR_MS);
      const { tasks } = await readiness(world.appUrl);
      expect(tasks).toMatchObject({ running: 0, dead: before.dead.length });
      expect(world.slack.ephemerals("U0WHISPERDEAD")).toEqual([]);
      expect(world.slack.ephemerals("U0OPENDEAD")).toEqual([]);
    });
  },
);

it("what version 899ea2e left is forgotten when its retention is over", { timeout: 60_000 }, async () => {
  await using world = await takeOver(1000);
  await world.pass(100 * DAY_MS);
  const { storePath } = world;
  await world.stopApp();
  const kept = everyCellOf(storePath);
  const ended = before.turns.filter(({ posts }) => posts.some(({ outcome }) => outcome !== null));
  expect(ended.filter(({ turnId }) => kept.some((cell) => cell.includes(turnId)))).toEqual([]);
  expect(ended.length).toBeGreaterThan(50);
});

function everyCellOf(storePath: string): string[] {
  const db = new DatabaseSync(storePath, { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables.flatMap(({ name }) =>
      db
        .prepare(`SELECT * FROM "${String(name)}"`)
        .all()
        .flatMap((row) => Object.values(row).map(String)),
    );
  } finally {
    db.close();
  }
}
