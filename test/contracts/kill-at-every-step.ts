import { expect, it } from "vitest";
import type { MentionOutcome, SlackDelivery, SlackSide } from "../../emulators/slack/index.ts";
import type { AppProcess } from "../support/app-process.ts";
import { startJobServiceSide } from "../support/job-service-side.ts";
import { isTaken, untilTaken } from "../support/taken.ts";
import { ANA, DOCS, environment, RANDOM, startSlackSide } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";

/**
 * Where the process dies: around something that is written to the store, or around the n-th request of a kind that it sends. Kinds are numbered apart,
 * as those that are sent at the same time go out in any order.
 */
export type Boundary = { at: "write" | "request"; phase: "before" | "after"; number: number; what: string };

/** A store that an app is at work on, and dies at. */
export type KillSubject = AsyncDisposable & {
  /** The app that dies. */
  readonly first: AppProcess;
  /** Starts another one. What the dead one held is free. */
  startSecond(): AppProcess | Promise<AppProcess>;
  /** Resolves when this app has nothing left to do but what waits for a far day, or when it has died. */
  quiet(app: AppProcess): Promise<void>;
  deadTasks(): number | Promise<number>;
};

/** Starts an app with this environment and a store of its own, which dies at `boundary`, if that is a write. `onWrite`: it has come to one. */
export type OpenKillSubject = (
  env: Record<string, string | undefined>,
  boundary: Boundary | null,
  onWrite: (boundary: Boundary) => void,
) => Promise<KillSubject>;

/**
 * Where the request is made: where the bot is, and where it has to turn to a direct message. `followedUp`: it is followed up when it has ended, and
 * the process dies only then.
 */
type Scene = {
  name: string;
  channel: string;
  followedUp?: boolean;
  posts: (slack: SlackSide) => ReturnType<SlackSide["messages"]>;
};
const scenes: Scene[] = [
  { name: "in the bot's channel", channel: DOCS, posts: (slack) => slack.messages(DOCS) },
  {
    name: "in a follow-up",
    channel: DOCS,
    followedUp: true,
    posts: (slack) => slack.messages(DOCS),
  },
  { name: "where the bot is not", channel: RANDOM, posts: (slack) => slack.dm(ANA) },
];

type Ending = {
  statusPosts: number;
  outcomes: string[];
  createsSeen: number;
  jobsMade: number;
  messagesSeen: number;
  deadTasks: number;
};

/** One request, from command to outcome, with the process killed at one boundary (null: at none) and started again. */
async function runWithDeath(
  open: OpenKillSubject,
  scene: Scene,
  boundary: Boundary | null,
  onStep: (step: Boundary) => void = () => {},
): Promise<Ending> {
  await using resources = new AsyncDisposableStack();
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide({ turns: scene.followedUp === true }));
  service.script.completeAfterPolls(2, { prLink: PR });
  const env = {
    ...environment(slack, service),
    POLL_MIN_MS: "20",
    POLL_MAX_MS: "50",
    JOB_SERVICE_TIMEOUT_MS: "5000",
  };

  let running: AppProcess | null = null;
  let isCounted = scene.followedUp !== true;
  const onCounted = (step: Boundary) => {
    if (isCounted) onStep(step);
  };
  const requests = new Map<string, number>();
  /** Returns whether the process was killed here before the request had an effect: then it has none. */
  async function onRequest(phase: "before" | "after", what: string): Promise<boolean> {
    const number = (requests.get(what) ?? 0) + (phase === "before" ? 1 : 0);
    requests.set(what, number);
    onCounted({ at: "request", phase, number, what });
    const isIt = boundary?.at === "request" && boundary.phase === phase;
    if (!isIt || boundary.what !== what || boundary.number !== number) return false;
    await running?.kill();
    return phase === "before";
  }
  slack.onCall(async (phase, { method }) => {
    if (await onRequest(phase, method)) slack.faults.add({ method, fault: { kind: "drop-before" } });
  });
  service.onCall(async (phase, { op }) => {
    if (await onRequest(phase, `job service ${op}`)) {
      service.faults.add({ op, times: 1, fault: { kind: "drop-before" } });
    }
  });

  const subject = resources.use(await open(env, boundary, onCounted));
  const { first } = subject;
  running = first;
  const firstUrl = await first.ready();
  const command = () => slack.person(ANA).command({ channel: scene.channel, text: "fix the quickstart" });
  let delivery: SlackDelivery | null = null;
  if (firstUrl !== null) {
    slack.setAppUrl(`${firstUrl}/slack/events`);
    const sent = await command();
    if (isTaken(sent)) await subject.quiet(first);
    else delivery = sent.delivery;
  }
  const followUp = () => {
    const [root] = slack.messages(DOCS);
    return slack.person(ANA).mention({ channel: DOCS, threadTs: root?.ts ?? "", text: "and the FAQ" });
  };
  let mentioned: MentionOutcome | null = null;
  if (scene.followedUp === true && !first.hasExited) {
    isCounted = true;
    mentioned = await followUp();
    if (mentioned.status === 200) await subject.quiet(first);
  }
  if (boundary !== null) {
    // What is written at the same time may share a commit, so that a run may have fewer writes: then it dies at its end.
    if (!first.hasExited) await first.kill();
    expect(await first.exit()).toBe("SIGKILL");
    const second = resources.use(await subject.startSecond());
    running = second;
    const url = `${await second.ready()}/slack/events`;
    slack.setAppUrl(url);
    // Nobody was told that it was taken, so it comes once more: as Slack's own retry would, with the same trigger id.
    if (delivery !== null) await untilTaken(slack, await slack.redeliver({ ...delivery, url }));
    if (firstUrl === null) await untilTaken(slack, await command());
    await subject.quiet(second);
    if (scene.followedUp === true) {
      mentioned ??= await followUp();
      const sent = mentioned.delivery;
      let { status } = mentioned;
      for (let retryNum = 1; status !== 200 && sent !== undefined; retryNum += 1) {
        ({ status } = await slack.redeliver({ ...sent, url }, { retryNum, resign: true }));
      }
      await subject.quiet(second);
    }
  }
  return {
    statusPosts: postsOf(slack, scene, /^status$/).length,
    outcomes: postsOf(slack, scene, /^outcome/),
    createsSeen: service.calls.filter(({ op }) => op === "create").length,
    jobsMade: service.creates.length,
    messagesSeen: service.calls.filter(({ op }) => op === "message").length,
    deadTasks: await subject.deadTasks(),
  };
}

function postsOf(slack: SlackSide, scene: Scene, name: RegExp): string[] {
  return scene
    .posts(slack)
    .filter(({ metadata }) => name.test(String(metadata?.event_payload["post"])))
    .map((message) => slack.visibleText(message));
}

/** One request, with the app killed at each step of it that `chosen` takes, on a store of one kind. */
export async function describeKillAtEveryStep(
  open: OpenKillSubject,
  chosen: (steps: Boundary[]) => Boundary[] = (steps) => steps,
): Promise<void> {
  const boundariesOf = new Map<Scene, Boundary[]>();
  for (const scene of scenes) {
    const boundaries: Boundary[] = [];
    await runWithDeath(open, scene, null, (step) => boundaries.push(step));
    // Right after a write is right before the next boundary: nothing outside memory lies between.
    const lastWrite = boundaries.findLast(({ at }) => at === "write");
    if (lastWrite?.phase === "before") boundaries.push({ ...lastWrite, phase: "after" });
    boundariesOf.set(scene, boundaries);
  }

  it("passes through every kind of boundary", () => {
    const kinds = (scene: Scene) =>
      [...new Set(boundariesOf.get(scene)?.map(({ at, what }) => (at === "request" ? what : at)))].toSorted();
    const [inChannel, followedUp, away] = scenes.map(kinds);
    const main = [
      "auth.test",
      "chat.postMessage",
      "chat.update",
      "job service create",
      "job service get",
      "write",
    ];
    // On a busy machine Ana may be told that her request is kept before its status message is there.
    expect(inChannel?.filter((kind) => kind !== "response_url")).toEqual(main);
    // Its status message comes a second after the outcome before it, when the follow-up has mostly ended: then it needs no update.
    const sometimes = ["chat.update", "chat.postEphemeral"];
    expect(followedUp?.filter((kind) => !sometimes.includes(kind))).toEqual([
      "chat.postMessage",
      "job service get",
      "job service message",
      "write",
    ]);
    expect(away).toEqual([...main, "conversations.open", "response_url"].toSorted());
  });

  for (const scene of scenes) {
    const boundaries = boundariesOf.get(scene) ?? [];
    const unknown: Boundary[] = [];

    it.concurrent.each(chosen(boundaries))(
      `${scene.name}: killed $phase $at $number ($what), one outcome`,
      { timeout: 120_000 },
      async (boundary) => {
        const ending = await runWithDeath(open, scene, boundary);
        const turns = scene.followedUp === true ? 2 : 1;
        expect(ending).toMatchObject({ statusPosts: turns, deadTasks: 0 });
        expect(ending.outcomes).toHaveLength(turns);
        expect(ending.createsSeen).toBeLessThanOrEqual(1);
        expect(ending.messagesSeen).toBeLessThanOrEqual(turns - 1);
        const last = ending.outcomes.at(-1) ?? "";
        const isUnknown = last.includes("got no answer");
        if (!isUnknown) {
          expect(last).toContain(
            turns === 2 ? "The agent updated acme/docs#7" : "Your pull request is ready",
          );
          expect(ending.jobsMade).toBe(1);
        }
        // The answer to the create, or to the message, is lost, exactly where it is.
        if (/job service (create|message)/.test(boundary.what)) expect(isUnknown).toBe(true);
        else if (isUnknown) unknown.push(boundary);
      },
    );

    it(`${scene.name}: only between sending a create and saving its answer is the outcome unknown`, () => {
      // What lies there: the commit that saves the answer, and what is said in Slack at the same time.
      const saying = ["chat.postMessage", "conversations.open", "response_url"];
      expect(unknown.filter(({ at, what }) => at === "request" && !saying.includes(what))).toEqual([]);
      expect(unknown.length).toBeLessThanOrEqual(8);
    });
  }
}
