import { describe, expect, it } from "vitest";
import { type Fault, openFaultsWorld, type Step, STEPS } from "../../support/runner-faults.ts";
import { atNight } from "../../support/nightly.ts";
import { isOneIn } from "../../support/sampled.ts";

const TIMEOUT_MS = 600_000;
const PORTAL = "<html>Sign in to this network</html>";
const page = (status: string) =>
  `HTTP/1.1 ${status}\r\ncontent-type: text/html\r\ncontent-length: ${PORTAL.length}\r\nconnection: close\r\n\r\n${PORTAL}`;

const FAULTS: Fault[] = [
  { who: "service", what: "kill" },
  { who: "runner", what: "kill" },
  { who: "runner", what: "kill the first" },
  { who: "runner", what: "kill the second" },
  ...([5, 20, 70] as const).flatMap((seconds): Fault[] => [
    { who: "service", what: "pause", seconds },
    { who: "runner", what: "pause", seconds },
    { who: "way", what: "silent", seconds },
  ]),
  { who: "way", what: "refuse", seconds: 20 },
  { who: "way", what: "refuse", seconds: 70 },
  { who: "way", what: "strange", seconds: 5, answer: page("200 OK") },
  { who: "way", what: "strange", seconds: 5, answer: page("404 Not Found") },
  { who: "way", what: "strange", seconds: 5, answer: page("502 Bad Gateway") },
];

const nameOf = (fault: Fault) =>
  [
    `${fault.who}:`,
    fault.what,
    "seconds" in fault && `${fault.seconds} s`,
    "answer" in fault && `(${fault.answer?.slice(9, 12)})`,
  ]
    .filter((part) => part !== false)
    .join(" ");

const CASES = STEPS.flatMap((step) =>
  FAULTS.map((fault) => ({ step, fault, name: `${nameOf(fault)}, ${step}` })),
);

/** Of so many, `npm test` and `npm run test:all` take one: another each day, and for each step. */
const ONE_IN = { test: 40, all: 12 };
const chosen = (cases: typeof CASES, every: number) =>
  cases.filter((_, n) => isOneIn(every, n + Math.floor(n / FAULTS.length)));
const isShort = ({ fault }: (typeof CASES)[number]) => !("seconds" in fault) || fault.seconds < 20;

async function suffered(step: Step, fault: Fault) {
  await using world = await openFaultsWorld();
  let id = "";
  const isReached = world.reached(step, () => id);
  isReached.catch(() => {});
  const runner = world.start(world.first);
  await runner.wrote(/the runner asks the job service for work/);
  id = await world.create();
  const isOver = isReached.then(async () => {
    // Another one is there when it is needed.
    if (fault.who !== "service") world.start(world.second);
    await world.suffer(fault, runner);
  });
  const early = step === "agent started" || step === "claimed" || step === "fetched" || step === "asked";
  if (early) await isReached;
  const [{ status, prLink }] = await Promise.all([world.ended(id), isOver]);
  const next = await world.create();
  const [other] = [await world.ended(next)];
  return {
    ended: [status, prLink?.replace(/.*\/pull\//, "")],
    ...(await world.left(id)),
    next: [other.status, typeof other.prLink],
  };
}

async function endsOnce({ step, fault }: (typeof CASES)[number]): Promise<void> {
  const { outcomes, ...is } = await suffered(step, fault);
  expect(is).toEqual({
    ended: ["completed", "1"],
    branches: 1,
    pulls: 1,
    late: [],
    agents: [],
    next: ["completed", "string"],
  });
  // A service that is killed may have written it down, and not said so any more.
  expect(outcomes).toBeLessThanOrEqual(1);
}

describe.concurrent("a request ends once, with one branch and one pull request, and another one after it", () => {
  const timeout = TIMEOUT_MS;
  // oxlint-disable-next-line vitest/expect-expect
  it.for(chosen(CASES.filter(isShort), ONE_IN.test))("$name", { timeout }, endsOnce);
  // oxlint-disable-next-line vitest/expect-expect
  it.for(atNight(CASES, chosen(CASES, ONE_IN.all)))("$name (all)", { timeout, tags: "all" }, endsOnce);
});
