import { Load } from "../load.ts";
import { channelId } from "../../world/light/identity.ts";
import { cpuMs } from "../process-use.ts";
import { BenchError, type Context, type Figure, type Scenario } from "../scenario.ts";
import { nowMs } from "../../world/clock/epoch.ts";
import { signedMention } from "../signed-request.ts";
import { StandIns, startDocsAgent, type Subject } from "../subjects.ts";
import { largest, quantile } from "../table.ts";

const FOLLOW_UPS = 2000;
/** The follow-ups to compare: the last ones, and these, which have few before them. */
const EARLY: [number, number] = [20, 120];
const LATE: [number, number] = [FOLLOW_UPS - 100, FOLLOW_UPS];
/** The program has warmed up after this many follow-ups in another thread. */
const WARM_UP = 300;
const WARM_UP_FROM = 100_000;
const TURN_MS: [number, number] = [20, 20];
const WITHIN_MS = 240_000;
const LOOK_EVERY_MS = 5;
const ENV = { REQUESTS_PER_PERSON: "0", REQUESTS_PER_CHANNEL: "0", POLL_MIN_MS: "1000" };

let stores = 0;

/** CPU time of the program per follow-up, in milliseconds. */
type Cost = { early: number; late: number };
/** The time from the answer to the message before until this message arrived, in milliseconds. */
type Sent = { waitsMs: number[]; isInOrder: boolean };

/**
 * Measures the cost of a follow-up in a thread that has many, and how long it waits once its turn
 * has come.
 */
export const followUps: Scenario = {
  name: "follow-ups",
  summary: `${FOLLOW_UPS} follow-ups in one thread: their order, how soon each is sent, what the last cost`,
  async run(context) {
    const figures: Figure[] = [];
    for (const reportsTurns of [true, false]) {
      const service = reportsTurns ? "service tells of turns" : "contract alone";
      context.progress(`one after the other, ${service}`);
      const apart = await oneByOne(context, reportsTurns);
      figures.push(...sentFigures(`one by one, ${service}`, apart.sent));
      figures.push(costFigure(`one by one, ${service}`, apart.cost));
      context.progress(`all at once, ${service}`);
      const together = await allAtOnce(context, reportsTurns);
      figures.push(...sentFigures(`all at once, ${service}`, together.sent));
      figures.push(costFigure(`accepted at once, ${service}`, together.accept));
      figures.push(costFigure(`sent at once, ${service}`, together.send));
    }
    return figures;
  },
};

function sentFigures(how: string, { waitsMs, isInOrder }: Sent): Figure[] {
  if (!isInOrder) throw new BenchError(`${how}: the follow-ups weren't sent in their order.`);
  return [
    {
      what: `${how}: its turn → sent, p95`,
      unit: "ms",
      measured: { name: "all in order", values: [quantile(waitsMs, 0.95)] },
    },
    {
      what: `${how}: its turn → sent, longest`,
      unit: "ms",
      measured: { name: "all in order", values: [largest(waitsMs)] },
      reach: "≤ 1,000",
    },
  ];
}

function costFigure(how: string, { early, late }: Cost): Figure {
  return {
    what: `${how}: CPU per follow-up`,
    unit: "ms",
    measured: { name: `${LATE[0]} to ${LATE[1]}`, values: [late] },
    against: { name: `${EARLY[0]} to ${EARLY[1]}`, values: [early] },
    reach: "ratio ≤ 1.50",
  };
}

async function oneByOne(context: Context, reportsTurns: boolean): Promise<{ sent: Sent; cost: Cost }> {
  await using bench = await Thread.start(context, reportsTurns);
  const cpu = new Map<number, number>();
  const askedAtMs = new Map<number, number>();
  for (let n = 1; n <= FOLLOW_UPS; n += 1) {
    if (n % 500 === 0) context.progress(`${n} sent`);
    askedAtMs.set(n, nowMs());
    await bench.mention(n);
    await bench.untilSent(n);
    cpu.set(n, cpuMs(bench.subject.program.pid));
  }
  return { sent: await bench.sent(askedAtMs), cost: costOf(cpu) };
}

/** Sends all follow-ups while the service takes no messages. They go to it once it does. */
async function allAtOnce(
  context: Context,
  reportsTurns: boolean,
): Promise<{ sent: Sent; accept: Cost; send: Cost }> {
  await using bench = await Thread.start(context, reportsTurns);
  const { pid } = bench.subject.program;
  await bench.standIns.takeMessages(false);
  const accepted = new Map<number, number>();
  // One connection keeps them in order.
  for (let n = 1; n <= FOLLOW_UPS; n += 1) {
    await bench.mention(n);
    accepted.set(n, cpuMs(pid));
  }
  context.progress("all accepted");
  await bench.standIns.takeMessages(true);
  const sent = new Map<number, number>();
  for (const n of [...EARLY, ...LATE]) {
    await bench.untilSent(n);
    sent.set(n, cpuMs(pid));
  }
  context.progress("all sent");
  const { waitsMs, isInOrder } = await bench.sent();
  // The first one waited for the service.
  return { sent: { waitsMs: waitsMs.slice(1), isInOrder }, accept: costOf(accepted), send: costOf(sent) };
}

/** Computes the cost from the program's CPU time at the moment when each was done. */
function costOf(cpu: ReadonlyMap<number, number>): Cost {
  const between = ([from, to]: [number, number]) =>
    ((cpu.get(to) ?? NaN) - (cpu.get(from) ?? NaN)) / (to - from);
  return { early: between(EARLY), late: between(LATE) };
}

/** A thread of a program between its stand-ins. The thread's first request has a job. */
class Thread implements AsyncDisposable {
  readonly standIns: StandIns;
  readonly subject: Subject;
  readonly #load: Load;

  private constructor(standIns: StandIns, subject: Subject) {
    this.standIns = standIns;
    this.subject = subject;
    this.#load = new Load(subject.origin, 1, []);
  }

  static async start({ checkout, dir }: Context, reportsTurns: boolean): Promise<Thread> {
    stores += 1;
    const store = `follow-ups-${stores}.sqlite`;
    const standIns = await StandIns.start(dir, { jobMs: TURN_MS, reportsTurns });
    const thread = new Thread(standIns, await startDocsAgent({ checkout, standIns, dir, store, env: ENV }));
    for (let n = WARM_UP_FROM; n <= WARM_UP_FROM + WARM_UP; n += 1) {
      await thread.mention(n);
      if (n === WARM_UP_FROM) await thread.untilSent(n);
    }
    await thread.untilSent(WARM_UP_FROM + WARM_UP);
    await thread.mention(0);
    await thread.untilSent(0);
    return thread;
  }

  /** Sends the mention of this number. Number 0 is the first of the measured thread. */
  async mention(n: number): Promise<void> {
    const first = n < WARM_UP_FROM ? 0 : WARM_UP_FROM;
    await this.#load.send(signedMention(n, { first, channel: channelId(first) }));
  }

  /** Resolves when the request of this number has reached the job service. */
  async untilSent(n: number): Promise<void> {
    const count = n < WARM_UP_FROM ? WARM_UP + n + 2 : n - WARM_UP_FROM + 1;
    const isSent = await this.standIns.until(({ created }) => created >= count, WITHIN_MS, LOOK_EVERY_MS);
    if (!isSent) throw new BenchError(`Request ${n} wasn't sent within ${WITHIN_MS / 1000} s.`);
  }

  /** `askedAtMs` is the time of each follow-up's request. If absent, they were sent long before. */
  async sent(askedAtMs?: ReadonlyMap<number, number>): Promise<Sent> {
    const { created } = await this.standIns.report();
    const inThread = created.filter(([n]) => n < WARM_UP_FROM);
    return {
      isInOrder: inThread.length === FOLLOW_UPS + 1 && inThread.every(([n], index) => n === index),
      waitsMs: inThread.slice(1).map(([n, atMs], index) => {
        const [, beforeAtMs = 0] = inThread[index] ?? [];
        return atMs - Math.max(beforeAtMs, askedAtMs?.get(n) ?? 0);
      }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#load[Symbol.asyncDispose]();
    await this.subject.program[Symbol.asyncDispose]();
    await this.standIns[Symbol.asyncDispose]();
  }
}
