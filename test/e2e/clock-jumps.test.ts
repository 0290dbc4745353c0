// @module-tag all

import { expect, it } from "vitest";
import { atNight } from "../support/nightly.ts";
import { press } from "../support/presses.ts";
import { TELLS_CHANGES, OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { MINUTE_MS, PR, jobOf, reply, said, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const HOUR_MS = 60 * MINUTE_MS;

const SERVICES = {
  "that is polled": OFFERS_EVERYTHING,
  "that tells what changes": TELLS_CHANGES,
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
      world.service.finish(jobOf(world), { status: "completed", prLink: PR, turn: reportOfLink() });
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

/** When the clock is set: before the step with that number, while all waits, or in the n-th call of that name, while a task runs. */
type Moment = { step: number } | { call: string; nth: number };

/** The whole conversation, and how long each step took. */
async function converse(kind: ServiceKind, moment: Moment | null, byMs: number) {
  // A request of the feed waits for almost as long as a call may take.
  const env = { JOB_SERVICE_TIMEOUT_MS: "90000" };
  await using world = await World.start({ socketMode: true, jobService: SERVICES[kind], env });
  let isSet = moment === null;
  const calls = new Map<string, number>();
  const count = (phase: string, name: string) => {
    if (phase !== "before") return;
    const nth = (calls.get(name) ?? 0) + 1;
    calls.set(name, nth);
    if (moment === null || !("call" in moment) || moment.call !== name || moment.nth !== nth) return;
    isSet = true;
    setClock(world, byMs);
  };
  const before = world.slack.calls.length;
  world.slack.onCall((phase, { method }) => count(phase, method));
  world.service.onCall((phase, { op }) => count(phase, op));
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
    calls: Object.fromEntries(calls),
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

/** What people see, and what comes more than 5 s later than usual. */
async function seen(kind: ServiceKind, moment: Moment | null, byMs: number) {
  const expected = await usualOf(kind);
  const { isSet, took, messages, reactions, errors } = await converse(kind, moment, byMs);
  const late = STEPS.flatMap(([name], n) => {
    const laterMs = (took[n] ?? Infinity) - (expected.took[n] ?? 0);
    return laterMs > 5_000 ? [`${name} came ${laterMs} ms later`] : [];
  });
  return { isSet, messages, reactions, errors, late };
}

/** The same, of the conversation in which nobody sets a clock. */
async function seenUsually(kind: ServiceKind) {
  const { isSet, messages, reactions, errors } = await usualOf(kind);
  return { isSet, messages, reactions, errors, late: [] };
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
  expect(await seen(kind, { step: n }, byMs)).toEqual(await seenUsually(kind));
});

/** How many calls of each name the conversation makes at least. Each kind of task makes some of them. */
const CALLS: [name: string, times: number][] = [
  ["create", 1],
  ["message", 1],
  ["answer", 1],
  ["cancel", 1],
  ["response_url", 1],
  ["chat.postMessage", 6],
  ["chat.update", 8],
  ["reactions.add", 3],
];
const LOOKS: Record<ServiceKind, [name: string, times: number]> = {
  "that is polled": ["get", 6],
  "that tells what changes": ["changes", 6],
};
const RUNNING = KINDS.flatMap((kind) =>
  [...CALLS, LOOKS[kind]].flatMap(([call, times]) =>
    Array.from({ length: times }, (_, n) =>
      JUMPS.map(([name, byMs]) => ({ kind, call, nth: n + 1, name, byMs })),
    ).flat(),
  ),
);

it.each(
  atNight(
    RUNNING,
    RUNNING.filter((_, n) => n % 53 === 22),
  ),
)(
  "the clock is set $name in $call number $nth, with a service $kind: nobody notices",
  async ({ kind, call, nth, byMs }) => {
    expect(await seen(kind, { call, nth }, byMs)).toEqual(await seenUsually(kind));
  },
);

it.each(KINDS)(
  "nothing is wrong in the conversation in which nobody sets a clock, with a service %s",
  async (kind) => {
    const { calls, errors, messages } = await usualOf(kind);
    for (const [name, times] of [...CALLS, LOOKS[kind]]) expect(calls[name]).toBeGreaterThanOrEqual(times);
    expect(errors).toBe("");
    expect(messages.filter((text) => text.includes("stopped watching"))).toEqual([]);
  },
);
