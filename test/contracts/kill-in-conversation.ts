import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Talk } from "../support/talk.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import type { JobServiceSideOptions } from "../../world/job-service/side.ts";
import { onRequests } from "../support/request-boundaries.ts";
import { isSampled } from "../support/sampled.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { untilTaken } from "../support/taken.ts";
import { LINK, PR } from "../support/threads.ts";
import { ANA, BEN, DOCS, environment, startSlackSide } from "../support/world.ts";
import { type Boundary, type OpenKillSubject, WORK_STATUS } from "./kill-at-every-step.ts";

/** A long interval, so that few of the steps are polls. */
const POLL_MS = "500";
const LOOK_MS = 20;
const FOLLOW = "Mention me in the result";
const ROOT = ["@Ana requested a docs change:", "fix the quickstart"];
const SIZE = "3 files, +12 −4";
const FAILED = { status: "failed" } as const;

/** The state at the end of a conversation. */
type Ending = {
  thread: string[];
  posts: string[];
  answers: string[];
  cancels: string[];
  creates: number;
  messages: number;
  acts: string[];
  deadTasks: number;
};

/** The events after Ana's command, when its job is running. */
type Scene = {
  name: string;
  offers: JobServiceSideOptions;
  play: (talk: Talk) => Promise<void>;
  /** The texts that everybody reads in the end. */
  thread: string[][];
  done: Omit<Ending, "thread" | "deadTasks">;
};

const REVIEW = { id: "1", author: "priya", words: "Not yet.", state: "changes-requested" } as const;
/** What comes later is told later, so the review's post doesn't wait for more reviews. */
const CONFLICTING = {
  url: PR,
  review: "changes-requested",
  reviews: [{ ...REVIEW, at: "2100-01-01T00:00:00Z", headSha: null }],
  roundsLeft: 3,
  blockedBy: "conflicts",
  mergeable: false,
  baseRef: "main",
} satisfies Parameters<Talk["service"]["follow"]>[1];

const UPDATED = [
  `✅ @Ben The agent updated ${LINK}:`,
  "Correct the install command",
  "Fixed it.",
  SIZE,
  "[View pull request] [Show changes]",
];

const scenes: Scene[] = [
  {
    name: "with a service that acts on pull requests",
    offers: { level: 2 },
    async play(talk) {
      talk.service.follow("job_1", CONFLICTING);
      await talk.outcomes(1);
      await talk.press(BEN, "update_pull_request");
      talk.service.follow("job_1", { ...CONFLICTING, blockedBy: null, mergeable: true });
      await talk.outcomes(2);
      await talk.press(BEN, "make_changes");
      await talk.outcomes(3);
      await talk.askAgain(BEN, "fix the quickstart");
      await talk.pressPrivately(BEN, "add_to_it");
      await talk.outcomes(4);
    },
    thread: [
      [...ROOT, `✏️ Changes requested: ${LINK}`],
      [
        "✅ @Ana Your pull request is ready:",
        "Correct the install command",
        "Fixed it.",
        SIZE,
        "[View pull request] [Show changes]",
      ],
      [`✏️ @Ana priya asks for changes in ${LINK}:`, "Not yet.", "[Make these changes]"],
      [`⚠️ @Ana ${LINK} conflicts with main.`, "[Update it]"],
      // A press's status message is gone: its outcome says it all.
      UPDATED,
      UPDATED,
      ["@Ben followed up:", "fix the quickstart", `✅ ${LINK}, ${SIZE}`],
      UPDATED,
    ],
    done: {
      posts: [
        "1: status",
        "1: outcome-1",
        "1: news-1",
        "1: news-2",
        "2: outcome-1",
        "3: outcome-1",
        "4: status",
        "4: outcome-1",
      ],
      answers: [],
      cancels: [],
      creates: 1,
      messages: 1,
      acts: ["update", "address"],
    },
  },
  {
    name: "with a service that offers everything",
    offers: OFFERS_EVERYTHING,
    async play(talk) {
      talk.service.ask("job_1");
      await talk.press(ANA, "answer_choice_1");
      await talk.press(BEN, "follow_menu", FOLLOW);
      talk.service.ask("job_1", { text: "Which heading?", choices: [] });
      await talk.answerInWords(BEN, "The last one");
      await talk.press(BEN, "stop_turn");
      await talk.outcomes(1);
      await talk.press(ANA, "try_again");
      await talk.outcomes(2);
      await talk.followUp(BEN, "and the FAQ");
      await talk.outcomes(3);
    },
    thread: [
      [...ROOT, "@Ana tried again:", `✅ ${LINK}, ${SIZE}`],
      ["💬 The agent asked:", "Which page?", "@Ana answered: FAQ"],
      ["💬 The agent asked:", "Which heading?", "@Ben answered: The last one"],
      ["⏹️ @Ben stopped the agent, @Ana.", "No pull request was opened.", "[Try again]"],
      [
        "✅ @Ana Your pull request is ready:",
        "Correct the install command",
        "Fixed it.",
        SIZE,
        "[View pull request] [Show changes]",
      ],
      // The follow-up's status message is gone: its outcome says it all.
      ["@docs-agent and the FAQ", ":white_check_mark:"],
      UPDATED,
    ],
    done: {
      posts: ["1: status", "1: question-1", "1: question-2", "1: outcome-1", "2: outcome-1", "3: outcome-1"],
      answers: ["2", "The last one"],
      cancels: ["job_1/1"],
      creates: 2,
      messages: 1,
      acts: [],
    },
  },
  {
    name: "with a service that knows only the contract",
    offers: {},
    async play(talk) {
      await talk.press(BEN, "follow_menu", FOLLOW);
      await talk.press(ANA, "stop_turn");
      await talk.outcomes(1);
      await talk.press(BEN, "keep_watching");
      await talk.outcomes(2, FAILED);
      await talk.press(ANA, "try_again");
      await talk.outcomes(3);
      await talk.followUp(BEN, "and the FAQ");
      await talk.outcomes(4);
    },
    thread: [
      [...ROOT, "@Ana tried again:", `✅ ${LINK}`],
      [
        "⏹️ @Ana stopped updates, @Ben.",
        "The agent can't be stopped and may still open a pull request.",
        "[Keep watching]",
      ],
      [
        "❌ @Ana @Ben The agent couldn't finish.",
        "If it keeps happening, give your Docs Agent admin this ID: job_1",
        "[Try again]",
      ],
      [`✅ @Ana Your pull request is ready: ${LINK}`, "[View pull request]"],
      ["@docs-agent and the FAQ", ":white_check_mark:"],
      [`✅ @Ben The agent finished. ${LINK} may have new commits.`, "[View pull request]"],
    ],
    done: {
      posts: ["1: status", "1: outcome-1", "1: outcome-2", "2: outcome-1", "3: outcome-1"],
      answers: [],
      cancels: [],
      creates: 2,
      messages: 1,
      acts: [],
    },
  },
];

/**
 * Runs one conversation. The process is killed at the boundary, unless it is null, and started
 * again.
 */
async function runWithDeath(
  open: OpenKillSubject,
  { offers, play }: Scene,
  boundary: Boundary | null,
  onStep: (step: Boundary) => void = () => {},
): Promise<Ending> {
  await using resources = new AsyncDisposableStack();
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide(offers));
  const env = { ...environment(slack, service), POLL_MIN_MS: POLL_MS, POLL_MAX_MS: POLL_MS };
  let isCounted = false;
  const onCounted = (step: Boundary) => {
    if (isCounted) onStep(step);
  };
  const subject = resources.use(await open(env, boundary, onCounted));
  onRequests({ slack, service }, boundary, onCounted, () => subject.first.kill());

  let app = subject.first;
  let url = `${await app.ready()}/slack/events`;
  slack.setAppUrl(url);
  async function alive(): Promise<void> {
    if (!app.hasExited) return;
    expect(app).toBe(subject.first);
    app = resources.use(await subject.startSecond());
    url = `${await app.ready()}/slack/events`;
    slack.setAppUrl(url);
  }
  async function settled(): Promise<void> {
    for (;;) {
      await alive();
      const tasks = await subject.tasks();
      if (!app.hasExited && tasks.every((id) => id.startsWith("watch:"))) return;
      await sleep(LOOK_MS);
    }
  }
  const talk = new Talk({ slack, service, app: { alive, settled, url: () => url } });
  const asked = await slack.person(ANA).command({ channel: DOCS, text: "fix the quickstart" });
  await untilTaken(slack, asked, () => subject.first.hasExited);
  await talk.until(() => (service.jobs.get("job_1")?.pollsOfTurn ?? 0) > 0);
  await settled();

  isCounted = true;
  await play(talk);
  if (boundary !== null && app === subject.first) {
    // Writes at the same time may share a commit, so a run may have fewer writes. Then it dies at
    // its end.
    await app.kill();
    await settled();
  }
  isCounted = false;
  return {
    thread: talk.thread,
    posts: talk.posts,
    answers: service.answers.map(({ answer }) => answer),
    cancels: service.cancels,
    creates: service.creates.length,
    messages: service.messages.length,
    acts: service.acts.map(({ act }) => act),
    deadTasks: await subject.deadTasks(),
  };
}

/**
 * Tests conversations with either kind of service, on a store of one kind. They are long, so the
 * app is killed at only one in `every` steps. Other suites try all of theirs. The steps change from
 * day to day.
 */
export async function describeKillInConversation(open: OpenKillSubject, every: number): Promise<void> {
  for (const scene of scenes) {
    const boundaries: Boundary[] = [];
    const undisturbed = await runWithDeath(open, scene, null, (step) => boundaries.push(step));

    describe(`${scene.name}`, () => {
      it("reads like this where nothing dies", () => {
        const { thread, ...done } = undisturbed;
        expect(done).toEqual({ ...scene.done, deadTasks: 0 });
        expect(thread.map((message) => message.split("\n"))).toEqual(scene.thread);
      });

      const unknown: Boundary[] = [];

      it.concurrent.each(boundaries.filter((_, n) => isSampled(n, every)))(
        "killed $phase $at $number ($what): ends the same",
        { timeout: 240_000 },
        async (boundary) => {
          const ending = await runWithDeath(open, scene, boundary);
          const isUnknown = ending.thread.some((message) => message.includes("got no answer"));
          if (!isUnknown) {
            expect(ending).toEqual(undisturbed);
          } else {
            const { posts, deadTasks } = undisturbed;
            expect(ending).toMatchObject({ posts, deadTasks });
            expect(ending.creates).toBeLessThanOrEqual(undisturbed.creates);
            expect(ending.messages).toBeLessThanOrEqual(undisturbed.messages);
            expect(ending.thread.join("\n")).not.toMatch(/\[Stop\]|eyes/);
          }
          // Without keys, the answer to a create or a message is lost exactly here.
          const isSending = /job service (create|message|update)/.test(boundary.what);
          if (isSending) expect(isUnknown).toBe(scene.offers.level === undefined);
          else if (isUnknown) unknown.push(boundary);
        },
      );

      it("only between sending a create, or a message, and saving its answer is the outcome unknown", () => {
        const beside = ["chat.postMessage", "chat.update", "reactions.add", ...WORK_STATUS];
        expect(unknown.filter(({ at, what }) => at === "request" && !beside.includes(what))).toEqual([]);
        expect(unknown.length).toBeLessThanOrEqual(scene.offers.level === undefined ? 8 : 0);
      });
    });
  }
}
