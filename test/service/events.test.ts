import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { WireJob } from "../../src/job-client/schema.ts";
import { MAX_LISTENERS } from "../../src/service/jobs/job-feed.ts";
import { JobStore } from "../../src/service/jobs/job-store.ts";
import { createKey, listKeys, revokeKey } from "../../src/service/keys.ts";
import { withState } from "../../src/service/state-file.ts";
import { readEvents } from "../support/event-stream.ts";
import { ServiceUnderTest } from "../support/job-service.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";

async function create(subject: ServiceUnderTest): Promise<string> {
  const response = await subject.ask(JOBS, { body: { prompt: "Fix" } });
  return ((await response.json()) as WireJob).id;
}

function jobOf(part: IteratorResult<string, void>): WireJob {
  const [event, data = ""] = String(part.value).split("\n");
  expect(event).toBe("event: job");
  return JSON.parse(data.replace(/^data: /, "")) as WireJob;
}

it("tells a job at once, after each change, and ends when the job is archived", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const { input, end } = await subject.runner.run(1);
  const response = await subject.ask(`${JOBS}/${id}/events`);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const events = readEvents(response);
  expect(jobOf(await events.next())).toMatchObject({
    id,
    status: "active",
    turns: [{ status: "running", step: null }],
  });

  input.onStep("Read docs/install.md");
  subject.clock.advance(1000);
  expect(jobOf(await events.next())).toMatchObject({ turns: [{ step: "Read docs/install.md" }] });
  end(resultNamed(id, "no-changes"));
  expect(jobOf(await events.next())).toMatchObject({
    status: "completed",
    turns: [{ outcome: "no-changes" }],
  });
  await subject.ask(`${JOBS}/${id}/archive`, { method: "POST" });
  expect(jobOf(await events.next())).toMatchObject({ status: "archived" });
  expect(await events.next()).toMatchObject({ done: true });

  const late = readEvents(await subject.ask(`${JOBS}/${id}/events`));
  expect(jobOf(await late.next())).toMatchObject({ status: "archived" });
  expect(await late.next()).toMatchObject({ done: true });
});

it("sends a comment now and then, and ends after a quarter of an hour", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.runner.run(1);
  const events = readEvents(await subject.ask(`${JOBS}/${id}/events`));
  jobOf(await events.next());
  subject.clock.advance(15_000);
  expect(await events.next()).toEqual({ done: false, value: ": heartbeat" });
  subject.clock.advance(15 * 60_000 - 15_000);
  const rest: string[] = [];
  for await (const part of events) rest.push(part);
  expect(new Set(rest)).toEqual(new Set([": heartbeat"]));
});

it("tells what another process wrote", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  const events = readEvents(await subject.ask(`${JOBS}/${id}/events`));
  expect(jobOf(await events.next())).toMatchObject({ status: "completed" });
  await withState({ dataDir: subject.dir.path }, subject.clock, (db) =>
    new JobStore(db).archive(id, subject.clock.now()),
  );
  subject.clock.advance(1000);
  expect(jobOf(await events.next())).toMatchObject({ status: "archived" });
});

it("tells nothing more once the key was revoked", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const { input } = await subject.runner.run(1);
  const events = readEvents(await subject.ask(`${JOBS}/${id}/events`));
  // The project's other key stays good.
  const { key } = createKey(subject.db, { prefix: "second", projectId: "docs", nowMs: 0 });
  const others = readEvents(await subject.ask(`${JOBS}/${id}/events`, { key }));
  await Promise.all([events.next(), others.next()]);
  await withState({ dataDir: subject.dir.path }, subject.clock, (db) => {
    for (const { id: keyId } of listKeys(db).filter(
      ({ last4 }) => last4 === subject.keys["docs"]?.slice(-4),
    )) {
      revokeKey(db, keyId, subject.clock.now());
    }
  });
  input.onStep("Read docs/install.md");
  subject.clock.advance(1000);
  expect(await events.next()).toMatchObject({ done: true });
  expect(jobOf(await others.next())).toMatchObject({ turns: [{ step: "Read docs/install.md" }] });
});

it("tells what another process wrote right after the job was read for the first time", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  using other = new DatabaseSync(subject.db.location() ?? "");
  const { questions } = subject.store;
  const shown = questions.shown.bind(questions);
  questions.shown = (jobId) => {
    questions.shown = shown;
    new JobStore(other).archive(id, subject.clock.now());
    return shown(jobId);
  };
  const events = readEvents(await subject.ask(`${JOBS}/${id}/events`));
  expect(jobOf(await events.next())).toMatchObject({ status: "completed" });
  subject.clock.advance(1000);
  expect(jobOf(await events.next())).toMatchObject({ status: "archived" });
});

it("reads the job once for a change, however many listen, and not at all without one", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const { input } = await subject.runner.run(1);
  const all = [];
  for (let n = 0; n < 10; n += 1) all.push(readEvents(await subject.ask(`${JOBS}/${id}/events`)));
  for (const events of all) await events.next();
  let reads = 0;
  const { questions } = subject.store;
  const shown = questions.shown.bind(questions);
  questions.shown = (jobId) => {
    reads += 1;
    return shown(jobId);
  };
  subject.clock.advance(10_000);
  expect(reads).toBe(0);
  input.onStep("Read");
  subject.clock.advance(1000);
  for (const events of all) expect(jobOf(await events.next())).toMatchObject({ turns: [{ step: "Read" }] });
  expect(reads).toBe(1);
});

it("has room for so many listeners, and again when some have gone", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.runner.run(1);
  const listen = () => subject.ask(`${JOBS}/${id}/events`);
  const streams: Response[] = [];
  while (streams.length < MAX_LISTENERS) streams.push(await listen());
  const refused = await listen();
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("30");
  // A HEAD request opens no stream.
  expect((await subject.ask(`${JOBS}/${id}/events`, { method: "HEAD" })).status).toBe(200);
  await streams.pop()?.body?.cancel();
  let again = await listen();
  // The server sees a moment later that the client has gone.
  for (let n = 0; again.status === 429 && n < 200; n += 1) {
    await sleep(20);
    again = await listen();
  }
  expect(again.status).toBe(200);
});

it("ends the streams when the service stops", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  await subject.runner.run(1);
  const events = readEvents(await subject.ask(`${JOBS}/${id}/events`));
  await events.next();
  await subject.stop();
  // A connection that was cut instead would end this with an error.
  for await (const part of events) expect(part).toMatch(/^event: job/);
});
