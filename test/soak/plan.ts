import fc from "fast-check";
import type { Fault, LimitSettings } from "../../world/slack/index.ts";
import type { SideFault } from "../../world/job-service/faults.ts";
import type { JobServiceOp } from "../../world/job-service/wire.ts";
import type { JobServiceSideOptions } from "../../world/job-service/side.ts";
import { TELLS_CHANGES, SERVICE_KINDS } from "../support/service-kinds.ts";
import type { Review } from "./reviews.ts";

/**
 * The moment when a process dies: at once, or around the `calls`-th request that it sends from now
 * on.
 */
export type DeathPoint =
  | { at: "now" }
  | { at: "slack" | "service"; phase: "before" | "after"; calls: number };

/** A person asks for something. Slack sends it `repeats` more times, with the same bytes. */
export type Ask = {
  do: "ask";
  via: "command" | "mention" | "shortcut" | "form" | "direct";
  channel: number;
  repeats: number;
};

/** A person presses a button, `times` at once. */
export type Press = { do: "press"; times: number };

/** A person mentions the app in a thread that has a request. */
export type Reply = { do: "reply"; repeats: number };

/**
 * Several people at once press **Stop**, choose **Mention me**, or answer a question by a button or
 * in its form.
 */
export type Steer = { do: "steer"; what: "stop" | "follow" | "choice" | "words"; times: number };

/**
 * A person says something in a thread without a mention. If asked, they say whether it is for the
 * agent.
 */
export type Chat = { do: "chat"; isForAgent: boolean };

/** An agent asks a question. With `isOpen`, it can be answered only in words. */
export type AgentAsks = { do: "question"; isOpen: boolean };

/**
 * An event of a round, `waitMs` after the one before it. With `isImpatient`, the person asks even
 * if the app is down.
 */
export type Step = { waitMs: number } & (
  | (Ask & { isImpatient: boolean })
  | Press
  | Reply
  | Steer
  | Chat
  | AgentAsks
  | Review
  | { do: "slack-fault"; method: string; fault: Fault; times: number }
  | { do: "slack-outage"; error: string; forMs: number }
  | { do: "service-fault"; op: JobServiceOp; fault: SideFault; times: number }
  | { do: "service-down"; forMs: number }
  | { do: "kill"; point: DeathPoint; downMs: number }
  | { do: "stop" }
);

/** Everything that is drawn for one round. */
export type Plan = {
  /** `JOB_DEADLINE_MS`. If it is short, watches expire, and people can keep watching. */
  deadlineMs: number;
  /** The poll with which a job ends, and its ending, by the number of the job. */
  polls: number;
  endings: ("pull-request" | "no-changes" | "failed" | "archived")[];
  /** Slack's limits for the app, its delay in showing posts, and the difference of its clock. */
  limits: LimitSettings;
  /** The capabilities that the job service offers and announces. */
  offers: JobServiceSideOptions;
  /** The setting `FOLLOW_UPS`. */
  followUps: "mention" | "ask";
  steps: Step[];
  /** The fate of pull requests once all turns have ended. */
  afterwards: Step[];
};

/** The number of channels of a round. The bot is in all but the last. */
export const CHANNEL_COUNT = 5;

/**
 * Draws the plan of a round. The same seed gives the same plan, but not the same timing on the
 * machine.
 */
export function drawPlan(seed: number): Plan {
  const [plan] = fc.sample(planArbitrary, { seed, numRuns: 1 });
  if (plan === undefined) throw new Error("fast-check drew nothing");
  return plan;
}

/** The fields of a person who asks for something. */
export function ask(channels: number) {
  return {
    do: fc.constant("ask" as const),
    via: fc.constantFrom(
      "command" as const,
      "command" as const,
      "mention" as const,
      "shortcut" as const,
      "form" as const,
      "direct" as const,
    ),
    channel: fc.nat(channels - 1),
    repeats: fc.constantFrom(0, 0, 1, 3),
  };
}

/** The fields of a person who presses a button. */
export const press = { do: fc.constant("press" as const), times: fc.constantFrom(1, 1, 2) };

/** The fields of a person who follows up. */
export const reply = { do: fc.constant("reply" as const), repeats: fc.constantFrom(0, 0, 1, 3) };

/** The fields of people who steer a running turn. */
export const steer = {
  do: fc.constant("steer" as const),
  what: fc.constantFrom(
    "stop" as const,
    "follow" as const,
    "choice" as const,
    "choice" as const,
    "words" as const,
  ),
  times: fc.constantFrom(1, 1, 2),
};

/** The fields of an agent that asks. */
export const question = { do: fc.constant("question" as const), isOpen: fc.boolean() };

/** The capabilities of a run's job service. */
export const offers = fc.constantFrom(
  ...SERVICE_KINDS.map(([, offered]) => offered),
  TELLS_CHANGES,
  TELLS_CHANGES,
);

const askStep = fc.record({
  waitMs: fc.nat(120),
  ...ask(CHANNEL_COUNT),
  isImpatient: fc.constantFrom(false, false, false, true),
});

const pressStep = fc.record({ waitMs: fc.nat(400), ...press });
const replyStep = fc.record({ waitMs: fc.nat(200), ...reply });
const steerStep = fc.record({ waitMs: fc.nat(200), ...steer });
const chatStep = fc.record({
  waitMs: fc.nat(200),
  do: fc.constant("chat" as const),
  isForAgent: fc.constantFrom(true, true, false),
});
const questionStep = fc.record({ waitMs: fc.nat(100), ...question });

/** The fields of a pull request's fate. */
export const review = {
  do: fc.constant("review" as const),
  what: fc.constantFrom(
    "changes-requested" as const,
    "changes-requested" as const,
    "checks-failed" as const,
    "closed" as const,
    "approved" as const,
  ),
};
const reviewStep = fc.record({ waitMs: fc.nat(200), ...review });

const POSTING = ["chat.postMessage", "chat.postMessage", "chat.postMessage", "chat.update"];
const ALL_METHODS = [
  ...POSTING,
  "chat.postEphemeral",
  "conversations.open",
  "conversations.history",
  "conversations.replies",
  "users.info",
  "views.open",
  "reactions.add",
  "reactions.remove",
  "response_url",
  "auth.test",
];

/** Error codes that Slack documents for its own trouble, and some that aren't in our lists. */
const SLACK_ERRORS = [
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "team_access_not_granted",
  "ekm_access_denied",
  "some_new_error",
];

const slackFault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constant({ kind: "ratelimited" as const, retryAfterS: 1 }),
  fc.record({
    kind: fc.constant("http" as const),
    status: fc.constantFrom(500, 502, 503, 504),
    isDone: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("error" as const), error: fc.constantFrom(...SLACK_ERRORS) }),
  fc.constant({ kind: "drop-before" as const }),
  { weight: 3, arbitrary: fc.constant({ kind: "drop-after" as const }) },
  fc.constant({ kind: "garbage" as const }),
);

const slackFaultStep = fc.record({
  waitMs: fc.nat(60),
  do: fc.constant("slack-fault" as const),
  method: fc.oneof(fc.constantFrom(...POSTING), fc.constantFrom(...ALL_METHODS)),
  fault: slackFault,
  times: fc.integer({ min: 1, max: 3 }),
});

/** Slack doesn't answer until its client gives up after ten seconds. This is rare. */
const slackSilence = fc.record({
  waitMs: fc.nat(60),
  do: fc.constant("slack-fault" as const),
  method: fc.constantFrom(...POSTING),
  fault: fc.constant({ kind: "hang" as const }),
  times: fc.constant(1),
});

/** Slack answers everything with one code for a while. */
const slackOutage = fc.record({
  waitMs: fc.nat(60),
  do: fc.constant("slack-outage" as const),
  error: fc.constantFrom(...SLACK_ERRORS),
  forMs: fc.integer({ min: 200, max: 3000 }),
});

const HTML = "<html><body><h1>Bad gateway</h1></body></html>";
const REFUSING = { error: "The service is busy" };

const serviceFault: fc.Arbitrary<SideFault> = fc.oneof(
  fc.constantFrom<SideFault>(
    { kind: "drop-before" },
    { kind: "drop-after" },
    { kind: "hang-before" },
    { kind: "hang-after" },
  ),
  fc.constantFrom<SideFault>(
    { kind: "status", status: 503, body: REFUSING },
    { kind: "status", status: 503, body: REFUSING, headers: { "retry-after": "1" } },
    { kind: "status", status: 429, body: REFUSING, headers: { "retry-after": "1" } },
    { kind: "status", status: 500, body: REFUSING },
    { kind: "status", status: 404, body: { error: "Not found" } },
  ),
  fc.constantFrom<SideFault>(
    { kind: "body", status: 502, body: HTML },
    { kind: "body", status: 503, body: HTML },
    { kind: "body", status: 404, body: HTML },
    { kind: "body", status: 200, body: HTML },
    { kind: "body-after", status: 502, body: HTML },
    { kind: "body-after", status: 503, body: HTML },
  ),
  fc.constantFrom<SideFault>(
    { kind: "gateway", status: 502, isReached: true },
    { kind: "gateway", status: 503, isReached: true },
    { kind: "gateway", status: 503 },
    { kind: "gateway", status: 404 },
    { kind: "encoded", encoding: "gzip" },
    { kind: "other-job", id: "job_of_somebody_else" },
  ),
  fc.record({ kind: fc.constant("slow" as const), ms: fc.integer({ min: 100, max: 400 }) }),
);

const serviceFaultStep = fc.record({
  waitMs: fc.nat(60),
  do: fc.constant("service-fault" as const),
  op: fc.constantFrom(
    "create" as const,
    "get" as const,
    "message" as const,
    "answer" as const,
    "cancel" as const,
  ),
  fault: serviceFault,
  times: fc.integer({ min: 1, max: 3 }),
});

/** Other faults end a feed, and then news of pull requests takes ten minutes. */
const feedFaultStep = fc.record({
  waitMs: fc.nat(60),
  do: fc.constant("service-fault" as const),
  op: fc.constant("changes" as const),
  fault: fc.constantFrom<SideFault>(
    { kind: "drop-before" },
    { kind: "drop-after" },
    { kind: "hang-before" },
    { kind: "status", status: 503, body: REFUSING },
    { kind: "body", status: 502, body: HTML },
  ),
  times: fc.integer({ min: 1, max: 3 }),
});

const serviceDown = fc.record({
  waitMs: fc.nat(200),
  do: fc.constant("service-down" as const),
  forMs: fc.integer({ min: 50, max: 1500 }),
});

const deathPoint: fc.Arbitrary<DeathPoint> = fc.oneof(fc.constant({ at: "now" as const }), {
  weight: 2,
  arbitrary: fc.record({
    at: fc.constantFrom("slack" as const, "slack" as const, "service" as const),
    phase: fc.constantFrom("before" as const, "after" as const),
    calls: fc.integer({ min: 1, max: 6 }),
  }),
});

const kill = fc.record({
  waitMs: fc.nat(500),
  do: fc.constant("kill" as const),
  point: deathPoint,
  downMs: fc.constantFrom(0, 0, 200, 800),
});

const stop = fc.record({ waitMs: fc.nat(500), do: fc.constant("stop" as const) });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: askStep },
  { weight: 5, arbitrary: pressStep },
  { weight: 5, arbitrary: replyStep },
  { weight: 6, arbitrary: steerStep },
  { weight: 4, arbitrary: questionStep },
  { weight: 3, arbitrary: chatStep },
  { weight: 5, arbitrary: reviewStep },
  { weight: 7, arbitrary: slackFaultStep },
  { weight: 5, arbitrary: serviceFaultStep },
  { weight: 2, arbitrary: feedFaultStep },
  { weight: 4, arbitrary: kill },
  { weight: 1, arbitrary: stop },
  { weight: 1, arbitrary: serviceDown },
  { weight: 1, arbitrary: slackSilence },
  { weight: 1, arbitrary: slackOutage },
);

/** Slack's limits with shorter stretches of time, so that a round stays short. */
const limits: fc.Arbitrary<LimitSettings> = fc.record(
  {
    posts: fc.constant({ calls: 3, perMs: 3000 }),
    updates: fc.constant({ calls: 3, perMs: 3000 }),
    history: fc.constant({ calls: 1, perMs: 2000 }),
    maxHistoryMessages: fc.constantFrom(3, 15),
    visibleAfterMs: fc.constantFrom(500, 2000, 5000),
    // Signatures may differ by five minutes.
    clockAheadMs: fc.constantFrom(-200_000, -5000, 5000, 200_000),
  },
  { requiredKeys: [] },
);

/** The endings of jobs, by their number. */
export const endings = fc.array(
  fc.constantFrom(
    "pull-request" as const,
    "pull-request" as const,
    "no-changes" as const,
    "failed" as const,
    "failed" as const,
    "archived" as const,
  ),
  { minLength: 4, maxLength: 4 },
);

const planArbitrary: fc.Arbitrary<Plan> = fc.record({
  deadlineMs: fc.constantFrom(1500, 60_000),
  polls: fc.constantFrom(0, 1, 3, 30),
  endings,
  limits: fc.oneof(fc.constant({}), limits),
  offers,
  followUps: fc.constantFrom("mention" as const, "ask" as const),
  steps: fc.array(step, { minLength: 30, maxLength: 55, size: "max" }),
  afterwards: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: reviewStep },
      { weight: 3, arbitrary: slackFaultStep },
      { weight: 1, arbitrary: feedFaultStep },
      { weight: 2, arbitrary: kill },
    ),
    { minLength: 10, maxLength: 25, size: "max" },
  ),
});
