import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { INTERNAL_APP } from "../../world/slack/index.ts";
import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";
import { startHookedProxy } from "../../world/faults/hooked-proxy.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import type { JobServiceSide } from "../../world/job-service/side.ts";
import { environment, startSlackSide } from "../support/world.ts";
import { Ledger, isInTail, nameOf, turnOf, turnOfKey } from "./ledger.ts";
import type { LostTail, Verdict } from "./ledger.ts";
import { People } from "./people.ts";
import { faultText, happen } from "./replica-faults.ts";
import type { Replica } from "./replica-faults.ts";
import { drawReplicaPlan, REPLICA_CHANNELS } from "./replica-plan.ts";
import type { Deed, ReplicaPlan } from "./replica-plan.ts";
import { isUpdate, openReplicaRedis, turnOfUpdate } from "./replica-redis.ts";
import type { ReplicaRedis } from "./replica-redis.ts";
import type { AgentAsks } from "./plan.ts";
import type { Review } from "./reviews.ts";
import { Reviews } from "./reviews.ts";
import {
  answersIn,
  heard,
  ignoreImpossible,
  letAgentAsk,
  letJobsEnd,
  postsOf,
  PR,
  tasksGivenUp,
} from "./round.ts";
import { orderBreaches, peakPerMinute, rateBreaches } from "./rates-and-order.ts";
import { RunningApp } from "./running-app.ts";
import { untruths } from "./untruths.ts";
import { WayToSlack } from "./way-to-slack.ts";

/**
 * Slack's limits for an app of one workspace, and tier 3 for searches: "50+ per minute"
 * (docs.slack.dev/apis/web-api/rate-limits).
 */
const SLACK_LIMITS = { ...INTERNAL_APP, history: { calls: 50, perMs: 60_000 } };
/**
 * As Slack does: "nearly immediately", after one minute, after five
 * (docs.slack.dev/apis/events-api).
 */
const EVENT_RETRIES_MS = [0, 60_000, 300_000];
/**
 * A person whose request wasn't taken asks again a minute later, as the app tells them to, up to
 * this number of times in all.
 */
const TRIES = 3;
const AGAIN_AFTER_MS = 60_000;
/**
 * The time within which a request or a press is taken. Which presses were taken is known only at
 * the end.
 */
const TAKEN_WITHIN_MS = 1_500;
const PROGRESS_EVERY_MS = 10_000;
/**
 * The differences of the replicas' clocks. The app refuses Slack's requests if they seem to be more
 * than five minutes old.
 */
const CLOCKS_OFF_MS = [0, 120_000, -120_000];
const SHIFTED_CLOCK = fileURLToPath(new URL("./shifted-clock.ts", import.meta.url));

/** Options of {@link runReplicas}. */
export type ReplicaRunOptions = {
  seed: number;
  requests: number;
  replicas: number;
  print: (line: string) => void;
};

/** The result of a run. */
export type ReplicaResult = Verdict & {
  asked: number;
  pressed: number;
  /** The number of stops, answers and the like that were tried. */
  steered: number;
  /** The number of reviews, failed checks and the like of pull requests. */
  reviewed: number;
  /** The number of stops that were carried out and of answers that agents got. */
  canceled: number;
  answered: number;
  /** Statements in the thread that aren't true. */
  untrue: string[];
  accepted: number;
  /**
   * Requests that ran although their person got no answer in time, or was told that they weren't
   * taken or may not have been.
   */
  ranUnanswered: number;
  ranRefused: number;
  kills: number;
  order: string[];
  rates: string[];
  /**
   * Other faults: a replica that ends by itself, a fault of the plan that had no effect, tasks
   * without an end.
   */
  faults: string[];
  /** The number of calls that Slack refused with 429, by method. */
  refused: Record<string, number>;
  /** The most calls in one minute, by method. */
  peaks: Record<string, number>;
  /** Tasks that were given up, and the reason. */
  dead: string[];
  /** Updates of messages and reactions that still wait for Slack's limits. */
  updatesLeft: number;
  /** The longest time for which this process, with the stand-ins in it, didn't answer. */
  ownDelayMs: number;
  tookMs: number;
  evidence: { plan: ReplicaPlan; logs: string[]; calls: string[] };
};

/**
 * Runs several replicas of the real program on one Redis, with the faults and acts that the seed
 * draws.
 */
export async function runReplicas(options: ReplicaRunOptions): Promise<ReplicaResult> {
  const startedAt = performance.now();
  const delay = monitorEventLoopDelay();
  delay.enable();
  const plan = drawReplicaPlan(options.seed, options.requests, options.replicas);
  const print = (line: string) => options.print(`${seconds(performance.now() - startedAt)}  ${line}`);
  await using resources = new AsyncDisposableStack();
  const redis = resources.use(await openReplicaRedis());
  const slack = resources.use(await startSlackSide({ limits: SLACK_LIMITS }));
  const service = resources.use(await startJobServiceSide(plan.offers));
  letJobsEnd(service, plan);
  const replicas = await startReplicas(resources, { plan, redis, slack, service, count: options.replicas });
  const balancer = resources.use(await startBalancer(replicas));
  slack.setAppUrl(`${balancer.url}/slack/events`);
  const ledger = new Ledger();
  const people = new People({
    slack,
    ledger,
    round: 1,
    appUrl: () => `${balancer.url}/slack/events`,
    channels: REPLICA_CHANNELS,
    eventRetriesMs: EVENT_RETRIES_MS,
  });
  const reviews = new Reviews(service, PR);
  const calls = recordCalls(slack, service);
  const progress = setInterval(() => print(progressOf(people, ledger, slack, service)), PROGRESS_EVERY_MS);
  resources.defer(() => clearInterval(progress));

  const faults: string[] = [];
  const faultEnds: number[] = [];
  let tail: LostTail | undefined;
  async function strike(): Promise<void> {
    for (const fault of plan.faults) {
      await sleep(fault.waitMs - TAKEN_WITHIN_MS);
      const before = askedOf(ledger);
      await sleep(TAKEN_WITHIN_MS);
      const text = faultText(fault);
      print(`- ${text}`);
      const fromMs = Date.now();
      const { isFelt, seen } = await happen(fault, { replicas, redis });
      faultEnds.push(Date.now());
      if (fault.do === "redis-tail") {
        const turnIds = [...askedOf(ledger)].filter(([id, asked]) => asked !== before.get(id));
        tail = { fromMs, toMs: Date.now(), turnIds: new Set(turnIds.map(([id]) => id)) };
      }
      print(`- over: ${text}; ${seen}`);
      if (!isFelt) faults.push(`nothing was felt of: ${text}; ${seen}`);
    }
  }
  const beganAt = performance.now();
  await Promise.all([
    strike(),
    ...plan.people.map(async (deed) => {
      await sleep(Math.max(1, deed.atMs - (performance.now() - beganAt)));
      if (deed.do === "question") letAgentAsk(service, deed.isOpen);
      else if (deed.do === "review") reviews.take(deed);
      else await act(people, deed).catch(ignoreImpossible);
    }),
  ]);
  print("people are done; waiting for what is left");
  const quiet = async () => (await Promise.all(replicas.map(({ app }) => app.quiet(redis)))).every(Boolean);
  const hasEnded = await quiet();
  const hasHeard = !reviews.settle() || (await heard(service));
  const isQuiet = hasEnded && hasHeard && (await quiet());
  people.settle();

  const live = await redis.live();
  if (!isQuiet)
    faults.push(
      `tasks are still at work: ${live
        .filter((id) => !isUpdate(id))
        .slice(0, 20)
        .join(", ")}`,
    );
  for (const [index, { app }] of replicas.entries()) {
    for (const end of app.ownEnds) faults.push(`replica ${index + 1} ended by itself: ${end}`);
  }
  const posts = postsOf(slack);
  const sent = [...service.creates, ...service.messages];
  const seenTurns = new Set([
    ...posts.map(turnOf),
    ...sent.map(({ idempotencyKey }) => turnOfKey(idempotencyKey ?? "")),
  ]);
  const entries = [...ledger.entries.values()];
  // A post that Redis forgot may appear twice, and only the second one is updated.
  const kept = posts.filter((post) => !isInTail(post, tail));
  const ofKept = kept.filter((post) => tail?.turnIds.has(turnOf(post)) !== true);
  const ranUntold = entries.filter(({ isAccepted, turnId }) => !isAccepted && seenTurns.has(turnId));
  const verdict = ledger.judge(posts, sent, answersIn(slack, service), tail);
  const ofReviews = reviews.judge(slack, kept, tail?.turnIds);
  return {
    ...verdict,
    lost: [...verdict.lost, ...ofReviews.lost],
    doubled: [...verdict.doubled, ...ofReviews.doubled],
    reviewed: reviews.made,
    untrue: untruths(slack, upToDate(ofKept, live), service),
    asked: people.asked,
    pressed: people.pressed,
    steered: people.steered,
    canceled: service.cancels.length,
    answered: service.answers.length,
    accepted: entries.filter(({ isAccepted }) => isAccepted).length,
    ranUnanswered: ranUntold.filter(({ isRefused }) => isRefused !== true).length,
    ranRefused: ranUntold.filter(({ isRefused }) => isRefused === true).length,
    kills: replicas.reduce((sum, { app }) => sum + app.kills, 0),
    order: orderBreaches(kept),
    rates: rateBreaches(slack.calls, faultEnds),
    faults,
    refused: countBy(slack.refusedCalls.map(({ method }) => method)),
    peaks: Object.fromEntries(
      ["chat.update", "conversations.replies", "conversations.history"].map((method) => [
        method,
        peakPerMinute(slack.calls, (call) => call.method === method),
      ]),
    ),
    dead: replicas.flatMap(({ app }) => tasksGivenUp(app.log)),
    updatesLeft: live.filter(isUpdate).length,
    ownDelayMs: delay.max / 1e6,
    tookMs: performance.now() - startedAt,
    evidence: { plan, logs: replicas.map(({ app }) => app.log), calls },
  };
}

/**
 * Returns the state of each turn: whether the app took its request, and the number of its watches.
 */
function askedOf({ entries }: Ledger): Map<string, string> {
  return new Map(
    [...entries].map(([id, { isAccepted, watches }]) => [
      id,
      `${isAccepted} ${watches.asked + watches.maybe}`,
    ]),
  );
}

async function act(people: People, deed: Exclude<Deed, AgentAsks | Review>): Promise<void> {
  if (deed.do === "press") return people.press(deed.times);
  if (deed.do === "steer") return people.steer(deed);
  if (deed.do === "reply") {
    await people.reply(deed);
    return;
  }
  for (let tries = 1; !(await people.ask(deed)) && tries < TRIES; tries += 1) await sleep(AGAIN_AFTER_MS);
}

/** Leaves out messages whose update still waits for Slack's limits. */
function upToDate(posts: readonly SlackMessage[], live: readonly string[]): SlackMessage[] {
  const late = new Set(live.map(turnOfUpdate));
  return posts.filter((post) => nameOf(post).startsWith("outcome-") || !late.has(turnOf(post)));
}

async function startReplicas(
  resources: AsyncDisposableStack,
  sides: { plan: ReplicaPlan; redis: ReplicaRedis; slack: SlackSide; service: JobServiceSide; count: number },
): Promise<Replica[]> {
  const { plan, redis, slack, service, count } = sides;
  const replicas: Replica[] = [];
  for (let index = 0; index < count; index += 1) {
    const slackWay = resources.use(await WayToSlack.open(slack.apiUrl));
    const env = {
      ...environment(slack, service),
      STORE_URL: redis.url,
      HTTP_PROXY: slackWay.url,
      NO_PROXY: new URL(service.baseUrl).host,
      POLL_MIN_MS: "500",
      POLL_MAX_MS: "2000",
      JOB_DEADLINE_MS: String(plan.deadlineMs),
      LOG_LEVEL: "debug",
      CLOCK_OFF_MS: String(CLOCKS_OFF_MS[index % CLOCKS_OFF_MS.length]),
      NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`,
    };
    replicas.push({ app: resources.use(new RunningApp({ env })), slackWay });
  }
  await Promise.all(replicas.map(({ app }) => app.up()));
  return replicas;
}

/**
 * Gives each request to the next replica, even if it is paused. A replica that is down refuses it.
 */
function startBalancer(replicas: readonly Replica[]): ReturnType<typeof startHookedProxy> {
  let next = 0;
  return startHookedProxy(
    () => {
      next += 1;
      const app = replicas[next % replicas.length]?.app;
      if (app === undefined || !app.isRunning) throw new Error("this replica is down");
      return app.url;
    },
    async () => false,
  );
}

/** Records every call at the two other sides as it comes. */
function recordCalls(slack: SlackSide, service: JobServiceSide): string[] {
  const calls: string[] = [];
  slack.onCall((phase, { method, args, result }) => {
    const { channel, thread_ts: thread, metadata } = args;
    const about = [channel, thread, metadata, result].map((part) => JSON.stringify(part) ?? "-").join(" ");
    calls.push(`${new Date().toISOString()} ${phase} slack ${method} ${about}`);
  });
  service.onCall((phase, { op, jobId, idempotencyKey }) => {
    calls.push(`${new Date().toISOString()} ${phase} service ${op} ${jobId ?? idempotencyKey ?? ""}`);
  });
  return calls;
}

function progressOf(people: People, ledger: Ledger, slack: SlackSide, service: JobServiceSide): string {
  const accepted = [...ledger.entries.values()].filter(({ isAccepted }) => isAccepted).length;
  const names = countBy(
    postsOf(slack).map(({ metadata }) => String(metadata?.event_payload["post"]).replace(/-\d+$/, "")),
  );
  const { status = 0, outcome = 0, notice = 0 } = names;
  const more = notice > 0 ? `, ${notice} notices` : "";
  return (
    `${people.asked} asked, ${people.pressed} pressed, ${accepted} accepted, ` +
    `${service.creates.length} jobs, ${status} status messages, ${outcome} outcomes${more}, ` +
    `${slack.refusedCalls.length} times 429`
  );
}

function countBy(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(0).padStart(4)} s`;
}
