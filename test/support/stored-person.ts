import { openBackend, type Backend } from "../../src/app/backend.ts";
import { openRedisSide } from "../../src/app/dump/redis-side.ts";
import { openSqliteSide } from "../../src/app/dump/sqlite-side.ts";
import type { Entry, Side } from "../../src/app/dump/transfer.ts";
import { jobKey } from "../../src/app/rules/project.ts";
import type { AppRecords, Write } from "../../src/app/rules/records.ts";
import { listTask, replyTask, watchTask, welcomeTask } from "../../src/app/rules/decisions/new-tasks.ts";
import { turnPayload } from "../../src/app/rules/decisions/payload.ts";
import { linkedAppends, listAppends } from "../../src/app/rules/thread/request-list.ts";
import { askedWrites } from "../../src/app/rules/thread/same-request.ts";
import type { PersonAnswer, Question } from "../../src/app/rules/thread/question.ts";
import type { Request } from "../../src/app/rules/turn/request.ts";
import type { Turn } from "../../src/app/rules/turn/turn.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import type { NewTask } from "../../src/shared/queue/task-queue.ts";
import { makeFollowed, makeJob, makeOutcome, makeQuoted, makeRequest, makeTurn } from "./builders.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** The person who is forgotten: their words and files all have "aardvark" in them. */
export const ANA = "U0ANA";
export const BEN = "U0BEN";
export const clock = createSystemClock();
/** The same in each store that a test fills. */
const NOW_MS = clock.now();
const DAY_MS = 24 * 60 * 60_000;
const { project } = makeRequest();
const at = { teamId: "T1", channelId: "C0DOCS" };

/** Opens a store as the app does: the path of a SQLite file, or the URL of a Redis. */
export function openStored(store: string): Promise<Backend> {
  const storeUrl = store.startsWith("redis:") ? store : `sqlite://${store}`;
  const config = { storeUrl, retentionMs: 30 * DAY_MS };
  return openBackend({ config, clock, logger: new RecordingLogger(), ownerWaitMs: 0 });
}

/** A question of the agent, as its answer leaves it. */
export function answered(by: string, words: string): Question {
  const answer: PersonAnswer = { userId: by, choiceId: null, words, saidIn: `mention:T1:C0DOCS:${by}` };
  const text = "Which aardvark?";
  return {
    id: "q",
    number: 1,
    text,
    choices: [],
    moreChoices: 0,
    allowsText: true,
    answer,
    shown: "answered",
  };
}

/** A turn that has ended with a pull request and told so in its thread. */
export function endedTurn(
  id: string,
  { job, thread, ...request }: Partial<Request> & { job: string; thread: string },
  more: Partial<Turn> = {},
): Turn {
  const asked = makeRequest({
    ...at,
    project,
    threadTs: thread,
    receivedAt: NOW_MS - DAY_MS,
    ...request,
    id,
  });
  const known = makeJob({ id: job, status: "completed", prLink: prOf(job) });
  const slot = (ts: string) => ({ channelId: "C0DOCS", ts, sentAtMs: 1, looks: 0, cursor: null });
  const told = {
    outcome: "pull-request",
    reason: null,
    summary: `Said aardvark in ${id}`,
    branch: null,
    pullRequest: { url: prOf(job), title: "Fix", files: 1, additions: 1, deletions: 1 },
    answer: "aardvark",
    notes: ["aardvark"],
  };
  const outcome = makeOutcome({ kind: "pull-request", job: known, told: told as never });
  return {
    ...makeTurn({ id, request: asked, job: known, stage: { name: "ended", outcome, at: NOW_MS - 1000 } }),
    delivery: {
      channelId: "C0DOCS",
      threadTs: thread,
      away: null,
      slots: { status: slot(`${thread.slice(0, -1)}1`), "outcome-1": slot(`${thread.slice(0, -1)}2`) },
      shown: "ended",
    },
    ...more,
  };
}

export function prOf(job: string): string {
  return `https://git.example/acme/docs/pull/${job}`;
}

/** A pull request that is open and followed. */
export function openPullRequest(job: string): NonNullable<Turn["pullRequest"]> {
  const latest = makeFollowed({ url: prOf(job) });
  const now = NOW_MS;
  return { url: prOf(job), latest, since: now, changedAt: now, waitingSince: null, news: [], count: 0 };
}

const file = (id: string) => ({ id, name: `aardvark-${id}.png`, mediaType: "image/png", size: 1, url: null });
const theirs = makeQuoted({
  segments: [{ kind: "text", text: "the aardvark is wrong" }],
  authorId: ANA,
  authorName: "Ana Aardvark",
  ts: "900.000100",
  files: [file("F2")],
});

/** Turns of Ana, others' turns with a part of hers, and turns that she has nothing to do with. */
export function turnsOfAll(): Turn[] {
  const own = endedTurn(
    "mention:T1:C0DOCS:1700000000.000000",
    {
      job: "job-1",
      thread: "1700000000.000000",
      userId: ANA,
      instructions: "fix the aardvark page",
      files: [file("F1")],
    },
    { questions: [answered(BEN, "aardvarks")], files: { sent: [file("F1")], unsent: [] } },
  );
  const followUp = endedTurn(
    "mention:T1:C0DOCS:1700000000.000900",
    {
      job: "job-1",
      thread: "1700000000.000000",
      userId: BEN,
      instructions: "and the FAQ",
      follows: { turnId: own.id },
      context: { messages: [theirs, makeQuoted({ authorId: BEN, ts: "901.1" })], leftOut: 0 },
    },
    {
      questions: [answered(ANA, "the aardvark one")],
      followers: [ANA, "U0CLEO"],
      votes: { [ANA]: "yes", [BEN]: "no" },
      stop: { userId: ANA, at: 1 },
      pressed: { 1: { action: "try-again", userId: ANA } },
      pullRequest: openPullRequest("job-1"),
    },
  );
  followUp.delivery.statusOf = own.id;
  const quoting = endedTurn(
    "form:V2",
    {
      job: "job-2",
      thread: "1700000001.000000",
      from: "shortcut",
      userId: BEN,
      instructions: "fix this",
      quoted: theirs,
    },
    { files: { sent: [file("F2"), { id: "F9", name: "bens.png" }], unsent: [] } },
  );
  const naming = endedTurn(
    "command:3",
    { job: "job-3", thread: "1700000002.000000", userId: BEN, instructions: `as <@${ANA}> said` },
    { followers: [ANA], pressed: { 1: { action: "try-again", userId: ANA } } },
  );
  const again = endedTurn("again:4", {
    job: "job-4",
    thread: "1700000000.000000",
    from: "try-again",
    userId: BEN,
    instructions: "fix the aardvark page",
    retries: { turnId: own.id },
    receivedAt: NOW_MS - DAY_MS / 2,
  });
  const others = endedTurn("command:5", {
    job: "job-5",
    thread: "1700000003.000000",
    userId: BEN,
    instructions: "fix it",
  });
  for (const turn of [naming, others]) {
    if (turn.stage.name === "ended")
      turn.stage.outcome.told = { ...turn.stage.outcome.told, summary: "Said so" } as never;
    if (turn.stage.name === "ended") delete turn.stage.outcome.told?.answer;
    if (turn.stage.name === "ended") delete turn.stage.outcome.told?.notes;
  }
  return [own, followUp, quoting, naming, again, others];
}

/** Fills a store with all of it, and with every other kind of record, task and series. */
export async function fill(store: string, turns = turnsOfAll()): Promise<void> {
  await put(store, [
    {
      kind: "record",
      id: "turn:broken",
      text: JSON.stringify({ value: { userId: ANA, x: "aardvark" } }),
      expiresAt: null,
    },
    {
      kind: "record",
      id: "set-aside:draft:old",
      text: JSON.stringify({
        value: { version: 1, raw: JSON.stringify({ authorId: ANA, x: "aardvark" }), reason: "", at: 1 },
      }),
      expiresAt: clock.now() + DAY_MS,
    },
    {
      kind: "task",
      id: "deliver:dead:1",
      state: "dead",
      type: "deliver",
      pool: "messages",
      known: "once",
      payload: JSON.stringify({
        turnId: "gone",
        whose: { ...at, userId: ANA, responseUrl: "https://hooks.slack.com/x" },
      }),
      dueAt: 1,
      attempt: 9,
      surprises: 0,
      deaths: 0,
      addedAt: 1,
      endedAt: clock.now(),
      reason: "refused",
      nextPayload: null,
      nextDueAt: null,
    },
    { kind: "done", id: `welcome:T1:${ANA}`, endedAt: clock.now() },
  ]);
  await using backend = await openStored(store);
  const byJob = Map.groupBy(turns, (turn) => jobKey(project, turn.job?.id ?? ""));
  const byThread = Map.groupBy(turns, ({ delivery }) => delivery.threadTs ?? "");
  const draft = { version: 1, from: "shortcut", ...at, threadTs: null, responseUrl: null } as const;
  const reply = (userId: string): AppRecords["reply"] => ({
    version: 1,
    request: makeRequest({
      ...at,
      userId,
      instructions: userId === ANA ? "aardvark?" : "mine",
      id: `mention:reply:${userId}`,
    }),
  });
  const writes: Write[] = [
    ...turns.map((turn): Write => ({ kind: "turn", id: turn.id, record: turn, ttlMs: DAY_MS })),
    ...[...byJob].map(([id, [first, ...rest]]): Write => {
      const newest = rest.at(-1) ?? first;
      const left = [first, ...rest].find((turn) => turn?.pullRequest !== undefined) ?? first;
      return {
        kind: "job",
        id,
        record: {
          version: 2,
          id: first?.job?.id ?? "",
          project,
          thread: null,
          openTurnIds: [],
          newestTurnId: newest?.id ?? "",
          pullRequest: { url: "https://git.example/pull", turnId: left?.id ?? "" },
          createdAt: 1,
        },
        ttlMs: DAY_MS,
      };
    }),
    ...[...byThread].map(([ts, all]): Write => ({
      kind: "thread",
      id: `T1:C0DOCS:${ts}`,
      record: { version: 2, ...at, ts, turnIds: all.map(({ id }) => id), muted: [ANA, BEN] },
      ttlMs: DAY_MS,
    })),
    { kind: "draft", id: "theirs", record: { ...draft, quoted: theirs }, ttlMs: DAY_MS },
    {
      kind: "draft",
      id: "others",
      record: { ...draft, quoted: makeQuoted({ authorId: BEN }) },
      ttlMs: DAY_MS,
    },
    { kind: "reply", id: "mention:reply:U0ANA", record: reply(ANA), ttlMs: DAY_MS },
    { kind: "reply", id: "mention:reply:U0BEN", record: reply(BEN), ttlMs: DAY_MS },
    {
      kind: "notice",
      id: `welcome:T1:${ANA}`,
      record: {
        version: 1,
        delivery: { channelId: "D1", threadTs: null, away: null, slots: {}, shown: null },
      },
    },
    { kind: "person", id: `T1:${ANA}`, record: { version: 1 } },
    { kind: "person", id: `T1:${BEN}`, record: { version: 1 } },
    { kind: "withheld", id: "T1:C0DOCS:1", record: { version: 1, messages: ["900.000100"] } },
    { kind: "service", id: project.service, record: { version: 1, honorsIdempotencyKeys: true } },
  ];
  const asked = { ...at, threadTs: null, userId: ANA };
  const tasks: NewTask[] = [
    ...turns.map((turn): NewTask => ({ id: `news:${turn.id}`, type: "news", payload: turnPayload(turn) })),
    ...turns.slice(0, 1).map((turn) => watchTask(turn, clock.now(), true)),
    ...turns.filter(({ job }) => job?.id === "job-2").map((turn) => watchTask(turn, clock.now(), true)),
    listTask("press:1", { ...asked, responseUrl: null, of: "person", from: 0, replaces: false }),
    replyTask("mention:9", {
      ...asked,
      message: { kind: "refused", refusal: { kind: "too-long", length: 9, limit: 1, typed: "aardvark" } },
    }),
    replyTask("mention:10", { ...asked, userId: BEN, message: { kind: "not-allowed", requesterId: ANA } }),
    replyTask("mention:11", { ...asked, userId: BEN, message: { kind: "help" } }),
    welcomeTask({ ...at, userId: BEN }),
  ];
  const later = clock.now() + DAY_MS;
  for (const turn of turns) {
    await backend.queue.commit((read) => ({
      writes: askedWrites(read, turn, DAY_MS, clock.now()),
      appends: [...listAppends(turn.request, DAY_MS), ...linkedAppends(turn.request)],
      within: [{ gate: `person:T1:${turn.request.userId}`, limit: 100_000, windowMs: 3_600_000 }],
      value: undefined,
    }));
  }
  for (let n = 0; n < writes.length; n += 100) {
    await backend.queue.commit(() => ({ writes: writes.slice(n, n + 100), value: undefined }));
  }
  await backend.queue.commit(() => ({
    adds: tasks.map((task) => ({ ...task, dueAt: later })),
    value: undefined,
  }));
}

/** Opens one side of a dump. */
export function openSide(store: string, isTarget = false): Promise<Side> {
  if (!store.startsWith("redis:")) return openSqliteSide(store, clock, isTarget);
  return openRedisSide({ url: store, clock, logger: new RecordingLogger() }, isTarget);
}

async function put(store: string, entries: Entry[]): Promise<void> {
  await using side = await openSide(store, true);
  await side.put(entries);
}
