import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { QuestionAnswer } from "../../../src/shared/contract/question.ts";
import type { LeasedWork } from "../../../src/service/runner/protocol.ts";
import type { JobNotes, RunTurnInput } from "../../../src/service/runner/runner.ts";
import { RunnerDesk } from "../../../src/service/runners/desk.ts";
import { newLease } from "../../../src/service/runners/lease.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { makeServiceProject } from "../../support/service-project.ts";

const ASKED = { text: "Which?", choices: [], allowsText: true };

/** A desk with a turn at it. `leaseMs` is null for the service's own runner. */
function open({ leaseMs }: { leaseMs: number | null }) {
  const clock = new ManualClock();
  const options = { takenWithinMs: 15_000, stopWithinMs: 60_000, onStuck: null };
  const desk = new RunnerDesk({ clock, logger: new RecordingLogger(), leaseMs, ...options });
  const written: string[] = [];
  const notes: JobNotes = {
    read: async () => null,
    write: async (kind) => void written.push(kind),
  };
  const ending = new AbortController();
  const project = makeServiceProject();
  let reply: (answer: QuestionAnswer | null) => void = () => {};
  const lease = { ...newLease("job-1.1.1"), onRenewed: () => {}, written: Promise.resolve(true) };
  const input: RunTurnInput = {
    jobId: "job-1",
    number: 1,
    kind: "message",
    prompt: "Fix",
    words: null,
    requester: null,
    acceptedAt: 0,
    pullRequest: null,
    closedSeenAt: null,
    authors: null,
    attachments: [],
    earlierTurns: [],
    project,
    usedBefore: null,
    notes,
    lease,
    signal: ending.signal,
    report: () => {},
    ask: () =>
      new Promise((resolve) => {
        reply = resolve;
      }),
  };
  const claim = (session = "one") =>
    desk.claim({ session, places: 1 }, new AbortController().signal, () => {});
  const report = (work: LeasedWork, waitMs = 0) =>
    desk.report(work.id, work.token, {
      number: 1,
      report: {},
      waitMs,
      questions: [{ question: 1, asked: ASKED }],
    });
  return { desk, clock, input, notes, written, project, ending, claim, report, reply: () => reply(null) };
}

it("gives the own runner its work again if it shows no sign of it, and loses nothing", async () => {
  const { desk, clock, input, claim } = open({ leaseMs: null });
  const turn = desk.run(input);
  const first = await claim();
  expect(first?.id).toBe("job-1.1.1");
  // The answer was lost on its way.
  clock.advance(15_000);
  const again = await claim();
  expect(again).toEqual(first);
  await desk.report(again?.id ?? "", again?.token ?? "", { number: 1, report: {}, questions: [], waitMs: 0 });
  clock.advance(60_000);
  const result = { kind: "no-changes" as const, summary: null };
  expect(await desk.result(again?.id ?? "", again?.token ?? "", { kind: "turn", result })).toBe(true);
  expect(await turn).toEqual(result);
});

it("gives a runner elsewhere less and less if it takes work and leaves it", async () => {
  const { desk, clock, input, claim } = open({ leaseMs: 60_000 });
  for (const pauseMs of [15_000, 30_000, 60_000]) {
    const turn = desk.run({ ...input, lease: { ...input.lease, ...newLease(`job-1.1.${pauseMs}`) } });
    await claim();
    const lost = turn.catch((thrown: unknown) => thrown);
    clock.advance(15_000);
    expect(await lost).toMatchObject({ code: "runner_lost", by: "another-turn" });
    void claim();
    expect(desk.offered.freePlaces).toBe(0);
    clock.advance(pauseMs - 1_000);
    void claim();
    expect(desk.offered.freePlaces).toBe(0);
    clock.advance(1_000);
    void claim();
    expect(desk.offered.freePlaces).toBe(1);
    desk.offered.endPolls();
  }
});

it("tells a runner nothing more of a turn that the stopping service leaves to it", async () => {
  const { desk, input, claim, report, reply } = open({ leaseMs: 60_000 });
  void desk.run(input);
  const work = await claim();
  if (work === null) throw new Error("there is no work");
  const held = report(work, 4_000);
  await setImmediate();
  desk.leave(work.id);
  // What waited for answers ends with the service, but nobody has said so.
  reply();
  await setImmediate();
  expect(desk.has(work.id)).toBe(false);
  expect(await report(work)).toBe("lost");
  const later = Symbol("later");
  expect(await Promise.race([held, setImmediate(later)])).toBe(later);
});

it("lets a diff write no notes, and a closing only those about closed pull requests", async () => {
  const { desk, notes, written, project, claim } = open({ leaseMs: 60_000 });
  const { signal } = new AbortController();
  void desk.readDiff({ project, jobId: "job-1", head: null, notes, signal });
  const diff = await claim();
  const ofDiff = desk.notesOf(diff?.id ?? "", diff?.token ?? "");
  if (ofDiff === null || ofDiff === "lost") throw new Error("it isn't there");
  await expect(ofDiff.write("turn", "{}")).rejects.toThrow("may not write");
  void desk.closePull({ project, jobId: "job-1", number: 1, notes, signal });
  const closing = await claim();
  const ofClosing = desk.notesOf(closing?.id ?? "", closing?.token ?? "");
  if (ofClosing === null || ofClosing === "lost") throw new Error("it isn't there");
  await expect(ofClosing.write("turn", "{}")).rejects.toThrow("may not write");
  await ofClosing.write("closed", "[]");
  expect(written).toEqual(["closed"]);
});

it("doesn't take the result of something else for a turn's", async () => {
  const { desk, input, claim } = open({ leaseMs: 60_000 });
  const turn = desk.run(input);
  const work = await claim();
  const refused = turn.catch((thrown: unknown) => thrown);
  expect(await desk.result(work?.id ?? "", work?.token ?? "", { kind: "diff", diff: null })).toBe(true);
  expect(await refused).toMatchObject({ details: [expect.stringContaining("something else")] });
});

it("knows when another process asks in the name of the same folder", async () => {
  const { desk, claim } = open({ leaseMs: 60_000 });
  void claim("one");
  expect(desk.offered.isAskedByAnother("one")).toBe(false);
  expect(desk.offered.isAskedByAnother("two")).toBe(true);
});
