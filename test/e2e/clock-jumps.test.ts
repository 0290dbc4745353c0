import { expect, it } from "vitest";
import { atNight } from "../support/nightly.ts";
import { press } from "../support/presses.ts";
import { FOLLOWS_PULL_REQUESTS, OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { MINUTE_MS, PR, jobOf, reply, said, told } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const HOUR_MS = 60 * MINUTE_MS;

const SERVICES = {
  "that is polled": { ...OFFERS_EVERYTHING, pullRequests: true },
  "that tells what changes": FOLLOWS_PULL_REQUESTS,
};
type ServiceKind = keyof typeof SERVICES;

/** What happens in the thread of Ana's request, step by step. Together, they need every kind of task. */
const STEPS: [name: string, step: (world: World, root: () => string) => Promise<unknown>][] = [
  [
    "a request",
    async (world, root) => {
      await world.slack.person(ANA).mention({ channel: DOCS, text: "fix the install page" });
      await world.until(() => world.service.creates.length === 1 && root() !== "");
    },
  ],
  [
    "a step of the agent",
    (world, root) => {
      world.service.tell(jobOf(world), { step: "Reading the install page" });
      return world.until(() => root().includes("Reading the install page"));
    },
  ],
  [
    "a question",
    (world) => {
      world.service.ask(jobOf(world));
      return world.until(() => thread(world).some((text) => text.includes("The agent asks")));
    },
  ],
  [
    "an answer",
    async (world) => {
      const question = world.slack
        .messages(DOCS)
        .findLast((message) => world.slack.visibleText(message).includes("The agent asks"));
      if (question === undefined) throw new Error("there is no question");
      await press(world, BEN, question, "answer_choice_1");
      await world.until(() => world.service.answers.length === 1);
      await world.until(() => thread(world).some((text) => text.includes("The agent asked")));
    },
  ],
  [
    "an outcome",
    async (world) => {
      world.service.finish(jobOf(world), { status: "completed", prLink: PR, turn: told() });
      world.service.follow(jobOf(world));
      await world.until(() => thread(world).some((text) => text.includes("Your pull request is ready")));
    },
  ],
  [
    "a follow-up",
    async (world) => {
      await reply(world, rootOf(world), "and the FAQ");
      await world.until(() => world.service.messages.length === 1);
      await world.until(() => thread(world).some((text) => text.includes("Follow-up sent to the agent")));
    },
  ],
  [
    "a stop",
    async (world) => {
      const sent = world.slack
        .messages(DOCS)
        .findLast((message) => world.slack.visibleText(message).includes("[Stop]"));
      if (sent === undefined) throw new Error("there is nothing to stop");
      await press(world, BEN, sent, "stop_turn");
      await world.until(() => world.service.cancels.length === 1);
      await world.until(() => thread(world).some((text) => text.includes("stopped the agent")));
    },
  ],
  [
    "a list",
    async (world) => {
      await world.slack.person(ANA).command({ channel: DOCS, text: "list" });
      await world.until(() => world.slack.ephemerals(ANA).length > 0);
    },
  ],
  [
    "news",
    (world) => {
      world.service.follow(jobOf(world), { state: "merged" });
      return world.until(() => thread(world).some((text) => text.includes("is merged")), 20 * MINUTE_MS);
    },
  ],
];

function rootOf({ slack }: World) {
  const [message] = slack.messages(DOCS);
  if (message === undefined) throw new Error("there is no message");
  return message;
}

/** What the app has said in Ana's thread. */
function thread(world: World): string[] {
  return said(world, rootOf(world)).map((lines) => lines.join("\n"));
}

/** Somebody sets this machine's clock. Slack's goes on as it did. */
function setClock(world: World, byMs: number): void {
  world.clock.setTo(world.clock.now() + byMs);
  world.slack.limits.set({ clockAheadMs: (world.slack.limits.settings.clockAheadMs ?? 0) - byMs });
}

/** When the clock is set: before the step with that number, while all waits, or in the app's n-th call of others, while a task runs. */
type Moment = { step: number } | { call: number };

/** The whole conversation, and how long each step took. */
async function converse(kind: ServiceKind, moment: Moment | null, byMs: number) {
  await using world = await World.start({ socketMode: true, jobService: SERVICES[kind] });
  let calls = 0;
  let isSet = moment === null;
  const count = (phase: string) => {
    if (phase !== "before") return;
    calls += 1;
    if (moment === null || !("call" in moment) || moment.call !== calls) return;
    isSet = true;
    setClock(world, byMs);
  };
  const before = world.slack.calls.length;
  world.slack.onCall(count);
  world.service.onCall(count);
  const took: number[] = [];
  for (const [n, [, step]] of STEPS.entries()) {
    await world.settle();
    if (moment !== null && "step" in moment && moment.step === n) {
      isSet = true;
      setClock(world, byMs);
    }
    const beganAt = world.clock.monotonicMs();
    await step(world, () => world.read(DOCS).join("\n\n"));
    took.push(world.clock.monotonicMs() - beganAt);
    await world.pass(3 * MINUTE_MS);
  }
  // What would come too often, or too late, comes by then.
  await world.pass(30 * MINUTE_MS);
  const reactions = world.slack.calls.slice(before).filter(({ method }) => method.startsWith("reactions."));
  return {
    isSet,
    calls,
    took,
    messages: world.slack.messages(DOCS).map((message) => world.slack.visibleText(message)),
    reactions: reactions.map(({ method, args }) => `${method} ${String(args["name"])}`),
    errors: world.logger.text("error"),
  };
}

type Conversation = Awaited<ReturnType<typeof converse>>;
const usual = new Map<ServiceKind, Promise<Conversation>>();

/** The conversation in which nobody sets a clock. */
function usualOf(kind: ServiceKind): Promise<Conversation> {
  const known = usual.get(kind) ?? converse(kind, null, 0);
  usual.set(kind, known);
  return known;
}

const JUMPS: [name: string, byMs: number][] = [
  ["an hour back", -HOUR_MS],
  ["an hour forward", HOUR_MS],
  ["25 hours back", -25 * HOUR_MS],
  ["25 hours forward", 25 * HOUR_MS],
];

async function expectSame(kind: ServiceKind, moment: Moment, byMs: number): Promise<void> {
  const [expected, actual] = [await usualOf(kind), await converse(kind, moment, byMs)];
  expect(actual.isSet).toBe(true);
  expect(actual).toMatchObject({ messages: expected.messages, reactions: expected.reactions, errors: "" });
  for (const [n, [name]] of STEPS.entries()) {
    const laterMs = (actual.took[n] ?? Infinity) - (expected.took[n] ?? 0);
    expect(laterMs, `${name} came ${laterMs} ms later`).toBeLessThanOrEqual(5_000);
  }
}

const KINDS: ServiceKind[] = ["that is polled", "that tells what changes"];
const WAITING = KINDS.flatMap((kind) =>
  STEPS.flatMap(([step], n) => JUMPS.map(([name, byMs]) => ({ kind, step, name, n, byMs }))),
);

it.each(
  atNight(
    WAITING,
    WAITING.filter((_, n) => n % 17 === 3),
  ),
)("the clock is set $name before $step, with a service $kind: nobody notices", async ({ kind, n, byMs }) => {
  await expectSame(kind, { step: n }, byMs);
});

/** Each of them takes some calls, so these find each kind of task at work. */
const CALLS = Array.from({ length: 35 }, (_, n) => n + 1);
const RUNNING = KINDS.flatMap((kind) =>
  CALLS.flatMap((call) => JUMPS.map(([name, byMs]) => ({ kind, call, name, byMs }))),
);

it.each(
  atNight(
    RUNNING,
    RUNNING.filter((_, n) => n % 53 === 22),
  ),
)(
  "the clock is set $name in the app's call $call, with a service $kind: nobody notices",
  async ({ kind, call, byMs }) => {
    await expectSame(kind, { call }, byMs);
  },
);

it.each(KINDS)("the calls above reach to the end of the conversation with a service %s", async (kind) => {
  console.log((await usualOf(kind)).calls, (await usualOf(kind)).took, (await usualOf(kind)).messages);
});
