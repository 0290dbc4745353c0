import { expect, it } from "vitest";
import { STATUS_SLOT, intend, posted } from "../../../src/app/rules/turn/delivery.ts";
import { threadId } from "../../../src/app/rules/records.ts";
import { newTurn, type Turn } from "../../../src/app/rules/turn/turn.ts";
import { StoreAnswerLostError } from "../../../src/shared/store/store-errors.ts";
import type { TaskDeps } from "../../../src/app/rules/ports/deps.ts";
import { submitTask } from "../../../src/app/rules/decisions/new-tasks.ts";
import { submit } from "../../../src/app/tasks/submit.ts";
import { makeQuoted, makeRequest } from "../../support/builders.ts";
import { TaskRig } from "./setup.ts";

/** The rig's deps, with something else that happens right after the first commit of a task. */
function withBetween({ deps, queue }: TaskRig, happens: () => Promise<void>): TaskDeps {
  let hasHappened = false;
  return {
    ...deps,
    async commit(decide) {
      const value = await queue.commit(decide);
      if (!hasHappened) {
        hasHappened = true;
        await happens();
      }
      return value;
    },
  };
}

function requestNow(rig: TaskRig): Turn {
  return newTurn(makeRequest({ receivedAt: rig.clock.now() }));
}

it.each([true, false])(
  "a store that does not answer, whether it wrote (%s) that the create is on its way or not: nothing was sent, so it is sent later, once",
  async (wasWritten) => {
    await using rig = await TaskRig.open();
    const turn = requestNow(rig);
    await rig.save(turn);
    const task = rig.task(submitTask(turn));
    const deps: TaskDeps = {
      ...rig.deps,
      async commit(decide) {
        if (wasWritten) await rig.queue.commit(decide);
        throw new StoreAnswerLostError("redis://there", "no answer within 1.5 s", "");
      },
    };
    expect(await rig.carryOut(await submit(deps, task))).toMatchObject({ kind: "retry" });
    expect(rig.creates).toEqual([]);
    expect(await rig.carryOut(await submit(rig.deps, task))).toEqual({ kind: "done" });
    expect(rig.creates).toHaveLength(1);
    expect((await rig.saved(turn)).stage.name).toBe("watching");
  },
);

it("keeps the status message that is posted while a lost create is given up, so that the outcome follows it", async () => {
  await using rig = await TaskRig.open();
  const turn: Turn = {
    ...requestNow(rig),
    stage: { name: "submitting", waitingSince: null, isRepeat: false },
  };
  await rig.save(turn);
  const deps = withBetween(rig, async () => {
    const delivery = posted(intend(turn.delivery, STATUS_SLOT, 1), STATUS_SLOT, {
      channelId: "C1",
      ts: "1.1",
    });
    await rig.save({ ...turn, delivery });
  });
  expect(await rig.carryOut(await submit(deps, rig.task(submitTask(turn))))).toEqual({ kind: "done" });
  expect(rig.creates).toEqual([]);
  const ended = await rig.saved(turn);
  expect(ended.stage).toMatchObject({ name: "ended", outcome: { kind: "unknown", reason: "create-lost" } });
  expect(ended.delivery.slots[STATUS_SLOT]).toMatchObject({ ts: "1.1" });
  expect(rig.added.map(({ type }) => type)).toEqual(["deliver"]);
});

it("a store that loses its last second, and with it that the create is on its way: the job is watched", async () => {
  await using rig = await TaskRig.open();
  const turn = requestNow(rig);
  await rig.save(turn);
  const deps = withBetween(rig, () => rig.save(turn));
  expect(await rig.carryOut(await submit(deps, rig.task(submitTask(turn))))).toEqual({ kind: "done" });
  expect(rig.creates).toHaveLength(1);
  expect((await rig.saved(turn)).stage.name).toBe("watching");
  expect(rig.added.map(({ type }) => type)).toContain("watch");
});

it("keeps the status message that is posted while the create is under way", async () => {
  await using rig = await TaskRig.open();
  const turn = requestNow(rig);
  await rig.save(turn);
  const deps = withBetween(rig, async () => {
    const now = await rig.saved(turn);
    const delivery = posted(intend(now.delivery, STATUS_SLOT, 1), STATUS_SLOT, {
      channelId: "C1",
      ts: "1.1",
    });
    await rig.save({ ...now, delivery });
  });
  await rig.carryOut(await submit(deps, rig.task(submitTask(turn))));
  const watched = await rig.saved(turn);
  expect(watched.stage.name).toBe("watching");
  expect(watched.delivery.slots[STATUS_SLOT]).toMatchObject({ ts: "1.1" });
});

it("sends a create whose answer was lost again in the same words, though Slack names people otherwise by then", async () => {
  await using rig = await TaskRig.open();
  const turn = newTurn(makeRequest({ quoted: makeQuoted(), receivedAt: rig.clock.now() }));
  await rig.save(turn);
  const lost = { kind: "unknown", message: "timeout" } as const;
  rig.answers.unshift({ ok: false, honorsIdempotencyKeys: true, fault: lost });
  const names: Array<string | null> = ["Ana Lima", null];
  const deps = {
    ...rig.deps,
    directory: { ...rig.deps.directory, personName: async () => names.shift() ?? null },
  };
  const task = rig.task(submitTask(turn));
  expect(await rig.carryOut(await submit(deps, task))).toMatchObject({ kind: "retry" });
  expect(await rig.carryOut(await submit(deps, { ...task, attempt: 2 }))).toEqual({ kind: "done" });
  expect(rig.creates[0]).toContain("Ana Lima");
  expect(rig.creates[1]).toBe(rig.creates[0]);
});

it("brings the status message back, and the outcome with it, where that was given up before the turn ended", async () => {
  await using rig = await TaskRig.open();
  const turn = requestNow(rig);
  await rig.save(turn);
  rig.answers.unshift({
    ok: false,
    honorsIdempotencyKeys: false,
    fault: { kind: "rejected", status: 401, message: "401" },
  });
  await rig.carryOut(await submit(rig.deps, rig.task(submitTask(turn))));
  expect(rig.added.map(({ id, onDuplicate }) => [id, onDuplicate])).toEqual([[`open:${turn.id}`, "pending"]]);
});

it("sends nothing that is unticked while its thread is read", async () => {
  await using rig = await TaskRig.open();
  const place = { threadTs: "1700000000.000001", messageTs: "1700000009.000001" };
  const turn = newTurn(makeRequest({ receivedAt: rig.clock.now(), from: "mention", ...place }));
  await rig.save(turn);
  const { teamId, channelId } = turn.request;
  const id = threadId({ teamId, channelId, ts: place.threadTs });
  const segments = [{ kind: "text" as const, text: "the code is 4711" }];
  const said = { ...makeQuoted({ authorId: "U0BEN", segments }), ts: "1700000005.000001" };
  let reads = 0;
  const deps: TaskDeps = {
    ...rig.deps,
    threadReader: {
      async read() {
        reads += 1;
        const record = { version: 1 as const, messages: [said.ts] };
        await rig.queue.commit(() => ({ writes: [{ kind: "withheld", id, record }], value: null }));
        return {
          ok: true,
          value: { messages: [said], leftOut: 0, hasEarlier: false, upTo: null, stopped: null },
        };
      },
    },
  };
  const task = rig.task(submitTask(turn));
  expect(await rig.carryOut(await submit(deps, task))).toMatchObject({ kind: "wait" });
  expect(rig.creates).toEqual([]);
  expect(await rig.carryOut(await submit(deps, task))).toEqual({ kind: "done" });
  expect(reads).toBe(2);
  expect(JSON.stringify(rig.creates)).not.toContain("4711");
});
