import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import type { SideJob, SideOutcome } from "../../world/job-service/jobs.ts";
import type { JobServiceSide } from "../../world/job-service/side.ts";
import { environment, startSlackSide } from "../support/world.ts";
import { Ledger } from "./ledger.ts";
import type { Verdict } from "./ledger.ts";
import { Chats } from "./chats.ts";
import { isImpossible, People } from "./people.ts";
import { CHANNEL_COUNT, drawPlan } from "./plan.ts";
import type { DeathPoint, Plan, Step } from "./plan.ts";
import { RunningApp } from "./running-app.ts";
import { Reviews } from "./reviews.ts";
import { openSoakStore } from "./soak-store.ts";
import { untruths } from "./untruths.ts";
import type { STORES } from "./soak-store.ts";

/** The address of every pull request of a round. */
export const PR = "https://github.com/acme/docs/pull/7";

const GivenUp = z.object({ task: z.string(), reason: z.string() });

/** The result of a round. */
export type RoundResult = Verdict & {
  asked: number;
  pressed: number;
  /** The number of stops, answers and the like that were tried. */
  steered: number;
  /** The number of replies whose authors said whether they are for the agent. */
  chatted: number;
  /** The number of reviews, failed checks and the like of pull requests. */
  reviewed: number;
  /** Statements in the thread that aren't true, and buttons for something that is over. */
  untrue: string[];
  accepted: number;
  kills: number;
  stops: number;
  failedStarts: number;
  uncleanStops: string[];
  isQuiet: boolean;
  /** Tasks that were given up, and the reason. */
  dead: string[];
  tookMs: number;
  /** Material for finding the cause of a failure. */
  evidence: { plan: Plan; log: string; calls: string[] };
};

/** Runs one round: the real program on a fresh store, with everything that its seed draws. */
export async function runRound(
  round: number,
  seed: number,
  storeName: (typeof STORES)[number],
): Promise<RoundResult> {
  const startedAt = performance.now();
  const plan = drawPlan(seed);
  await using resources = new AsyncDisposableStack();
  const store = resources.use(await openSoakStore(storeName));
  const slack = resources.use(await startSlackSide({ moreEvents: ["message.channels", "message.groups"] }));
  slack.limits.set(plan.limits);
  const service = resources.use(await startJobServiceSide(plan.offers));
  letJobsEnd(service, plan);
  const calls: string[] = [];
  const env = {
    ...environment(slack, service),
    STORE_URL: store.url,
    POLL_MIN_MS: "40",
    POLL_MAX_MS: "200",
    JOB_DEADLINE_MS: String(plan.deadlineMs),
    // With a shorter timeout, the app never waits for a feed.
    JOB_SERVICE_TIMEOUT_MS: service.feed !== null ? "2500" : "500",
    FOLLOW_UPS: plan.followUps,
    LOG_LEVEL: "debug",
  };
  const app = resources.use(new RunningApp({ env, onUrl: (url) => slack.setAppUrl(url) }));
  const ledger = new Ledger();
  const people = new People({ slack, ledger, round, appUrl: () => app.url, channels: CHANNEL_COUNT });
  const chats = new Chats(slack, ledger, round);
  const reviews = new Reviews(service, PR);
  const deaths = armDeaths({ slack, service, app, calls });
  await app.up();

  async function takeAll(steps: readonly Step[]): Promise<void> {
    const underWay: Promise<unknown>[] = [];
    for (const step of steps) {
      await sleep(step.waitMs);
      // Most people find the app up. A request that they make while it is down is never taken.
      if (!(step.do === "ask" && step.isImpatient)) await app.up();
      const scene = { slack, service, app, people, chats, reviews, deaths };
      underWay.push(take(step, scene).catch(ignoreImpossible));
    }
    await Promise.all(underWay);
  }
  await takeAll(plan.steps);
  if (service.level === 1) {
    // There is little to review before the turns have ended.
    await Promise.race([app.quiet(store), sleep(20_000)]);
    await takeAll(plan.afterwards);
  }
  deaths.disarm();
  slack.faults.clear();
  service.faults.clear();
  await service.up();
  // The work in progress ends first, so that every pull request is there.
  const hasEnded = await app.quiet(store);
  const hasHeard = !reviews.settle() || (await heard(service));
  const isQuiet = hasEnded && hasHeard && (await app.quiet(store));
  people.settle();
  chats.settle();

  const posts = postsOf(slack);
  const verdict = ledger.judge(posts, [...service.creates, ...service.messages], answersIn(slack, service));
  const ofReviews = reviews.judge(slack, posts);
  return {
    ...verdict,
    lost: [...verdict.lost, ...ofReviews.lost],
    doubled: [...verdict.doubled, ...ofReviews.doubled],
    reviewed: reviews.made,
    untrue: untruths(slack, posts, service),
    asked: people.asked,
    pressed: people.pressed,
    steered: people.steered,
    chatted: chats.answered,
    accepted: [...ledger.entries.values()].filter(({ isAccepted }) => isAccepted).length,
    kills: app.kills,
    stops: app.stops,
    failedStarts: app.failedStarts,
    uncleanStops: app.uncleanStops,
    isQuiet,
    dead: tasksGivenUp(app.log),
    tookMs: performance.now() - startedAt,
    evidence: { plan, log: app.log, calls },
  };
}

type Scene = {
  slack: SlackSide;
  service: JobServiceSide;
  app: RunningApp;
  people: People;
  chats: Chats;
  reviews: Reviews;
  deaths: Deaths;
};

async function take(
  step: Step,
  { slack, service, app, people, chats, reviews, deaths }: Scene,
): Promise<unknown> {
  switch (step.do) {
    case "ask":
      return people.ask(step);
    case "press":
      return people.press(step.times);
    case "reply":
      return people.reply(step);
    case "steer":
      return people.steer(step);
    case "chat":
      return chats.say(step);
    case "review":
      return reviews.take(step);
    case "question":
      return letAgentAsk(service, step.isOpen);
    case "slack-fault":
      slack.faults.add({ method: step.method, fault: step.fault, times: step.times });
      return;
    case "slack-outage": {
      const fault = { kind: "error", error: step.error } as const;
      const over = slack.faults.add({ method: "*", fault, times: Number.POSITIVE_INFINITY });
      await sleep(step.forMs);
      return over();
    }
    case "service-fault":
      service.faults.add({ op: step.op, fault: step.fault, times: step.times });
      return;
    case "service-down":
      await service.down();
      await sleep(step.forMs);
      return service.up();
    case "kill":
      return deaths.arm(step.point, step.downMs);
    case "stop":
      return app.stop();
  }
}

/** Makes the agent of the newest running job ask a question, if it can. */
export function letAgentAsk(service: JobServiceSide, isOpen: boolean): void {
  const job = [...service.jobs.values()].findLast(({ status }) => status === "active");
  if (job !== undefined && service.level === 1) service.ask(job.id, isOpen ? { choices: [] } : {});
}

type Deaths = { arm(point: DeathPoint, downMs: number): Promise<void>; disarm(): void };

/**
 * Ends the process around the calls that the plan names. The other side still does what it was
 * asked, because it doesn't notice. Every call goes into `calls` as it comes.
 */
function armDeaths(
  scene: Omit<Scene, "people" | "chats" | "reviews" | "deaths"> & { calls: string[] },
): Deaths {
  const { slack, service, app, calls } = scene;
  let armed: { point: Exclude<DeathPoint, { at: "now" }>; left: number; downMs: number }[] = [];

  async function onCall(at: "slack" | "service", phase: "before" | "after", what: string): Promise<void> {
    calls.push(`${new Date().toISOString()} ${phase} ${at} ${what}`);
    for (const death of armed) {
      if (death.point.at !== at || death.point.phase !== phase) continue;
      death.left -= 1;
      if (death.left > 0) continue;
      armed = armed.filter((other) => other !== death);
      calls.push("the process is killed");
      await app.kill(death.downMs);
    }
  }
  slack.onCall((phase, { method, args }) =>
    onCall("slack", phase, `${method} ${String(args["channel"])} ${JSON.stringify(args["metadata"] ?? {})}`),
  );
  service.onCall((phase, { op, jobId, idempotencyKey }) =>
    onCall("service", phase, `${op} ${jobId ?? idempotencyKey ?? ""}`),
  );
  return {
    async arm(point, downMs) {
      if (point.at === "now") await app.kill(downMs);
      else armed.push({ point, left: point.calls, downMs });
    },
    disarm() {
      armed = [];
    },
  };
}

/**
 * Resolves to true once the app has stored everything that a feed tells, if there is one, or to
 * false if that takes too long.
 */
export async function heard({ feed }: JobServiceSide): Promise<boolean> {
  if (feed === null) return true;
  // The first request from now on finds all changes. An app that gave up waiting asks again with
  // its old cursor. So only the newest request shows that the app has stored everything.
  const asked = feed.requests.length;
  const lateAt = performance.now() + 120_000;
  const isHeard = () => feed.requests.length > asked && feed.isCaughtUp;
  while (!isHeard() && performance.now() < lateAt) await sleep(20);
  return isHeard();
}

/**
 * The number of further polls for which an agent waits for an answer: enough for somebody to see
 * the question.
 */
const ANSWER_WITHIN_POLLS = 15;

/** Makes jobs end as the plan says. */
export function letJobsEnd(
  service: JobServiceSide,
  { polls, endings }: Pick<Plan, "polls" | "endings">,
): void {
  const outcomeOf = ({ id }: SideJob): SideOutcome => {
    const ending = endings[Number(/\d+/.exec(id)?.[0] ?? 0) % endings.length] ?? "no-changes";
    switch (ending) {
      case "pull-request":
        return { status: "completed", prLink: PR };
      case "no-changes":
        return { status: "completed" };
      case "failed":
      case "archived":
        return { status: ending };
    }
  };
  service.script.endAfterPolls(polls, outcomeOf, ANSWER_WITHIN_POLLS);
}

/** Returns the app's posts. */
export function postsOf(slack: SlackSide): SlackMessage[] {
  return slack.workspace
    .channels()
    .flatMap(({ id }) => slack.messages(id))
    .filter(({ bot_id }) => bot_id === slack.workspace.bot.botId);
}

/**
 * Returns a function that is true if the words with a marker answered an agent's question: the
 * agent got them, or a message says who answered.
 */
export function answersIn(
  slack: SlackSide,
  { answers }: Pick<JobServiceSide, "answers">,
): (marker: string) => boolean {
  const shown = postsOf(slack).flatMap((post) => /answered: (.*)$/m.exec(slack.visibleText(post))?.[1] ?? []);
  const all = [...shown, ...answers.map(({ answer }) => answer)].join("\n");
  return (marker) => all.includes(marker);
}

/** Returns the lines of the log about tasks that were given up. */
export function tasksGivenUp(log: string): string[] {
  return log
    .split("\n")
    .filter((line) => line.includes('"msg":"task given up"'))
    .map((line) => {
      const { task, reason } = GivenUp.parse(JSON.parse(line));
      return `${task}: ${reason}`;
    });
}

/** Ignores acts that a person couldn't do because of what they see. For `catch`. */
export function ignoreImpossible(thrown: unknown): void {
  if (!isImpossible(thrown)) throw thrown;
}
