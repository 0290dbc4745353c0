import { expect, it } from "vitest";
import type { SlackDelivery, SlackSide } from "../../world/slack/index.ts";
import type { AppProcess } from "../support/app-process.ts";
import { startJobServiceSide, type JobServiceSideOptions } from "../../world/job-service/side.ts";
import { onRequests } from "../support/request-boundaries.ts";
import { isTaken, untilTaken } from "../support/taken.ts";
import { ANA, DOCS, environment, RANDOM, startSlackSide } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";

/**
 * The place where the process dies: around a write to the store, or around the n-th request of a
 * kind. Each kind is numbered apart, because requests that are sent at the same time go out in any
 * order.
 */
export type Boundary = { at: "write" | "request"; phase: "before" | "after"; number: number; what: string };

/** A store with an app that works on it and dies. */
export type KillSubject = AsyncDisposable & {
  /** The app that dies. */
  readonly first: AppProcess;
  /** Starts another app. Everything that the dead one held is free. */
  startSecond(): AppProcess | Promise<AppProcess>;
  /**
   * Resolves when this app has nothing left to do except tasks of the far future, or when it has
   * died.
   */
  quiet(app: AppProcess): Promise<void>;
  /** The ids of the tasks that aren't over. */
  tasks(): string[] | Promise<string[]>;
  deadTasks(): number | Promise<number>;
};

/**
 * Starts an app with this environment and a store of its own. It dies at `boundary` if that is a
 * write. `onWrite` is called at each write.
 */
export type OpenKillSubject = (
  env: Record<string, string | undefined>,
  boundary: Boundary | null,
  onWrite: (boundary: Boundary) => void,
) => Promise<KillSubject>;

/** Slack's methods that show that the agent works. They are called beside the work. */
export const WORK_STATUS = ["assistant.threads.setStatus", "agents.sessions.setStatus"];

/**
 * The place of the request: a channel with the bot, or one where the bot has to answer in a direct
 * message.
 */
type Scene = {
  name: string;
  channel: string;
  posts: (slack: SlackSide) => ReturnType<SlackSide["messages"]>;
};
const scenes: Scene[] = [
  { name: "in the bot's channel", channel: DOCS, posts: (slack) => slack.messages(DOCS) },
  { name: "where the bot is not", channel: RANDOM, posts: (slack) => slack.dm(ANA) },
];

type Ending = {
  statusPosts: number;
  outcomes: string[];
  createsSeen: number;
  jobsMade: number;
  deadTasks: number;
};

/**
 * Runs one request from its command to its outcome. The process is killed at the boundary, unless
 * it is null, and started again.
 */
async function runWithDeath(
  open: OpenKillSubject,
  scene: Scene,
  boundary: Boundary | null,
  onStep: (step: Boundary) => void = () => {},
  offers: JobServiceSideOptions = {},
): Promise<Ending> {
  await using resources = new AsyncDisposableStack();
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide(offers));
  service.script.completeAfterPolls(2, { prLink: PR });
  const env = {
    ...environment(slack, service),
    POLL_MIN_MS: "20",
    POLL_MAX_MS: "50",
    JOB_SERVICE_TIMEOUT_MS: "5000",
  };

  const subject = resources.use(await open(env, boundary, onStep));
  const { first } = subject;
  onRequests({ slack, service }, boundary, onStep, () => first.kill());
  const firstUrl = await first.ready();
  const command = () => slack.person(ANA).command({ channel: scene.channel, text: "fix the quickstart" });
  let delivery: SlackDelivery | null = null;
  if (firstUrl !== null) {
    slack.setAppUrl(`${firstUrl}/slack/events`);
    const sent = await untilTaken(slack, await command(), () => first.hasExited);
    if (isTaken(sent)) await subject.quiet(first);
    else delivery = sent.delivery;
  }
  if (boundary !== null) {
    // Writes at the same time may share a commit, so a run may have fewer writes. Then it dies at
    // its end.
    if (!first.hasExited) await first.kill();
    expect(await first.exit()).toBe("SIGKILL");
    const second = resources.use(await subject.startSecond());
    const url = `${await second.ready()}/slack/events`;
    slack.setAppUrl(url);
    // Nobody was told that it was taken, so Slack sends it once more with the same trigger id, as
    // in its own retries.
    if (delivery !== null) await untilTaken(slack, await slack.redeliver({ ...delivery, url }));
    if (firstUrl === null) await untilTaken(slack, await command());
    await subject.quiet(second);
  }
  return {
    statusPosts: postsOf(slack, scene, /^status$/).length,
    outcomes: postsOf(slack, scene, /^outcome/),
    createsSeen: service.calls.filter(({ op }) => op === "create").length,
    jobsMade: service.creates.length,
    deadTasks: await subject.deadTasks(),
  };
}

function postsOf(slack: SlackSide, scene: Scene, name: RegExp): string[] {
  return scene
    .posts(slack)
    .filter(({ metadata }) => name.test(String(metadata?.event_payload["post"])))
    .map((message) => slack.visibleText(message));
}

/**
 * Tests one request, with the app killed at each of its steps that `chosen` takes, on a store of
 * one kind.
 */
export async function describeKillAtEveryStep(
  open: OpenKillSubject,
  chosen: (steps: Boundary[]) => Boundary[] = (steps) => steps,
  offers: JobServiceSideOptions = {},
): Promise<void> {
  const boundariesOf = new Map<Scene, Boundary[]>();
  for (const scene of scenes) {
    const boundaries: Boundary[] = [];
    await runWithDeath(open, scene, null, (step) => boundaries.push(step), offers);
    // Right after a write is also right before the next boundary, because nothing outside memory
    // happens in between.
    const lastWrite = boundaries.findLast(({ at }) => at === "write");
    if (lastWrite?.phase === "before") boundaries.push({ ...lastWrite, phase: "after" });
    boundariesOf.set(scene, boundaries);
  }

  it("passes through every kind of boundary", () => {
    const kinds = (scene: Scene) =>
      [...new Set(boundariesOf.get(scene)?.map(({ at, what }) => (at === "request" ? what : at)))]
        // They are sent beside the work, if a poll sees it.
        .filter((kind) => !WORK_STATUS.includes(kind))
        .toSorted();
    const [inChannel = [], away = []] = scenes.map(kinds);
    const main = [
      "auth.test",
      "chat.postMessage",
      "chat.update",
      ...(offers.level === 1 ? ["conversations.info", "job service changes"] : []),
      "job service create",
      "job service get",
      "users.info",
      "write",
    ];
    // On a busy machine, Ana may be told that her request is saved before its status message is
    // posted.
    const expectKinds = (kinds: string[], expected: string[]) => {
      // On a busy machine, a feed may report the end before the status message is posted. It then
      // needs no update.
      const isEarly = offers.changes !== undefined && !kinds.includes("chat.update");
      expect(kinds).toEqual(expected.filter((kind) => !isEarly || kind !== "chat.update").toSorted());
    };
    expectKinds(
      inChannel.filter((kind) => kind !== "response_url"),
      main,
    );
    expectKinds(away, [...main, "conversations.open", "response_url"]);
    expect([...inChannel, ...away]).toContain("chat.update");
  });

  for (const scene of scenes) {
    const boundaries = boundariesOf.get(scene) ?? [];
    const unknown: Boundary[] = [];

    it.concurrent.each(chosen(boundaries))(
      `${scene.name}: killed $phase $at $number ($what), one outcome`,
      { timeout: 120_000 },
      async (boundary) => {
        const ending = await runWithDeath(open, scene, boundary, undefined, offers);
        expect(ending).toMatchObject({ statusPosts: 1, deadTasks: 0 });
        expect(ending.outcomes).toHaveLength(1);
        expect(ending.createsSeen).toBeLessThanOrEqual(1);
        const isUnknown = ending.outcomes[0]?.includes("got no answer") === true;
        if (!isUnknown) {
          expect(ending.outcomes[0]).toContain("Your pull request is ready");
          expect(ending.jobsMade).toBe(1);
        }
        // The answer to the create is lost exactly here.
        if (boundary.what === "job service create") expect(isUnknown).toBe(true);
        else if (isUnknown) unknown.push(boundary);
      },
    );

    it(`${scene.name}: only between sending a create and saving its answer is the outcome unknown`, () => {
      // These happen in between: the commit that saves the answer, and the posts in Slack at the
      // same time.
      const saying = ["chat.postMessage", "conversations.open", "response_url", ...WORK_STATUS];
      expect(unknown.filter(({ at, what }) => at === "request" && !saying.includes(what))).toEqual([]);
      expect(unknown.length).toBeLessThanOrEqual(8);
    });
  }
}
