import fc from "fast-check";
import { expect, it } from "vitest";
import {
  Delivery,
  STATUS_SLOT,
  moveToDirectMessage,
  newDelivery,
} from "../../../src/app/rules/turn/delivery.ts";
import type { Notifier } from "../../../src/app/rules/ports/notifier.ts";
import type { Task } from "../../../src/shared/queue/task-queue.ts";
import { postOnce } from "../../../src/app/tasks/post.ts";
import { makeTurn } from "../../support/builders.ts";
import { ScriptedSlack, TaskRig, lost, lostAfterEffect, notSent, refused } from "./setup.ts";

const turn = makeTurn();
const label = { turnId: turn.id, post: STATUS_SLOT };
/** A post is seen by the second look at the latest: that one comes 8 s after the first. */
const LAG_MAX_MS = 8_000;

/** What becomes of one run of the task. */
const eventsWith = (...moreFinds: Array<"refused">) =>
  fc.array(
    fc.record({
      post: fc.constantFrom(
        "works",
        "not sent",
        "lost",
        "lost after its effect",
        "crash before",
        "crash after",
      ),
      find: fc.constantFrom(
        "works" as const,
        "works" as const,
        "works" as const,
        "not sent" as const,
        "lost" as const,
        ...moreFinds,
      ),
      crashBeforeSaving: fc.constantFrom(false, false, false, true),
      lateMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100_000 })),
    }),
    { maxLength: 25 },
  );
const events = eventsWith();
type Event = ReturnType<typeof eventsWith> extends fc.Arbitrary<Array<infer T>> ? T : never;
const works: Event = { post: "works", find: "works", crashBeforeSaving: false, lateMs: 0 };
const faults = { "not sent": notSent, lost, refused, "lost after its effect": lostAfterEffect };

class Crash extends Error {}

/**
 * One send, and how often the whole place was searched since the last one that may have arrived, as
 * far as can be told. Null if there was none.
 */
type Send = { looksSinceOpen: number | null; couldLook: boolean };

let places = 0;

/** Posts once, run by run, until it is there; what is not saved is lost in a crash. */
async function run(rig: TaskRig, given: Event[], lagMs: number) {
  const slack = new ScriptedSlack(rig.clock);
  slack.lagMs = lagMs;
  const sends: Send[] = [];
  let looksSinceOpen: number | null = null;
  let couldLook = true;
  let event = works;
  const notifier: Notifier = {
    slackTimeMs: () => slack.slackTimeMs(),
    isEmpty: () => slack.isEmpty(),
    sendFile: () => slack.sendFile(),
    update: () => slack.update(),
    remove: () => slack.remove(),
    react: () => slack.react(),
    replyPrivately: (to, message) => slack.replyPrivately(to, message),
    publishHome: () => slack.publishHome(),
    openDirectMessage: () => slack.openDirectMessage(),
    async post(...args) {
      const { post } = event;
      sends.push({ looksSinceOpen, couldLook });
      if (post !== "not sent") looksSinceOpen = 0;
      if (post === "crash before") throw new Crash();
      slack.faults.post = [post === "works" || post === "crash after" ? null : faults[post]];
      const answer = await slack.post(...args);
      if (post === "crash after") throw new Crash();
      return answer;
    },
    async find(place, searched) {
      slack.faults.find = [event.find === "works" ? null : faults[event.find]];
      couldLook = event.find !== "refused";
      const answer = await slack.find(place, searched);
      if (answer.ok && looksSinceOpen !== null) looksSinceOpen += 1;
      return answer;
    },
  };
  places += 1;
  let saved = newDelivery({ channelId: `C${places}`, threadTs: null });
  const save = (delivery: Delivery): void => {
    saved = Delivery.parse(JSON.parse(JSON.stringify(delivery)));
  };
  const task: Task & { payload: { slotMs?: number } } = {
    ...rig.task({ id: "open:1", type: "open", payload: {} }),
    payload: {},
  };
  const pending = [...given];
  for (let guard = 0; guard < 500; guard += 1) {
    event = pending.shift() ?? works;
    couldLook = true;
    rig.clock.advance(event.lateMs);
    try {
      const attempt = await postOnce({ ...rig.deps, notifier }, task, {
        teamId: "T1",
        delivery: saved,
        slot: STATUS_SLOT,
        label,
        message: { kind: "status", turn, movedBecause: null },
        saveIntent: async (change) => save(change(saved)),
      });
      if (event.crashBeforeSaving) throw new Crash();
      save(attempt.change(saved));
      if (attempt.kind === "posted") return { slack, sends, saved };
      if (attempt.kind === "refused") throw new Error("nothing here refuses");
      const { end } = attempt;
      if (end.kind !== "wait" && end.kind !== "retry") throw new Error(`it ended: ${end.kind}`);
      if (end.kind === "retry") task.attempt += 1;
      if (end.payload !== undefined) task.payload = end.payload as { slotMs?: number };
      rig.clock.advanceTo(end.dueAt);
    } catch (thrown) {
      // It runs again at once after the restart, with what was written down.
      if (!(thrown instanceof Crash)) throw thrown;
    }
  }
  throw new Error("it was never posted");
}

it("is there in the end, and once, whatever fails and whenever the process dies, if Slack shows it within eight seconds", async () => {
  await using rig = await TaskRig.open();
  await fc.assert(
    fc.asyncProperty(events, fc.integer({ min: 0, max: LAG_MAX_MS }), async (given, lagMs) => {
      const { slack, saved } = await run(rig, given, lagMs);
      expect(slack.posts).toHaveLength(1);
      expect(saved.slots[STATUS_SLOT]).toMatchObject({ ts: slack.posts[0]?.ts });
    }),
  );
});

it("is sent again only after two looks through all of the place, unless every earlier attempt certainly had no effect, or nothing can be seen there", async () => {
  await using rig = await TaskRig.open();
  await fc.assert(
    // Slack may show it when it likes: then it can be doubled, but not without having been looked for.
    fc.asyncProperty(eventsWith("refused"), fc.integer({ min: 0, max: 60_000 }), async (given, lagMs) => {
      const { sends } = await run(rig, given, lagMs);
      const rash = sends.filter(
        ({ looksSinceOpen, couldLook }) => couldLook && looksSinceOpen !== null && looksSinceOpen < 2,
      );
      expect(rash).toEqual([]);
    }),
  );
});

it("is not looked for where that is refused: said twice is better than never", async () => {
  await using rig = await TaskRig.open();
  const { slack, deps } = rig;
  slack.faults.post = [lost];
  slack.faults.find = [refused];
  let delivery = newDelivery({ channelId: "C1", threadTs: null });
  const task = { ...rig.task({ id: "open:1", type: "open", payload: {} }), payload: {} };
  const attempt = async () => {
    const made = await postOnce(deps, task, {
      teamId: "T1",
      delivery,
      slot: STATUS_SLOT,
      label,
      message: { kind: "status", turn, movedBecause: null },
      saveIntent: async (change) => {
        delivery = change(delivery);
      },
    });
    delivery = made.change(delivery);
    return made.kind;
  };
  expect(await attempt()).toBe("later");
  rig.clock.advance(60_000);
  expect(await attempt()).toBe("posted");
  expect(slack.posts).toHaveLength(1);
  expect(moveToDirectMessage(delivery, "D1", "is_archived").slots).toHaveProperty(STATUS_SLOT);
});
