import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Delivery,
  STATUS_SLOT,
  intend,
  recordSearch,
  moveToDirectMessage,
  newDelivery,
  outcomeSlot,
  posted,
  takeBack,
} from "../../../src/app/rules/turn/delivery.ts";

const fresh = newDelivery({ channelId: "C1", threadTs: "1.1" });
const SENT_AT = 1_000_000;

describe("a post", () => {
  it("that is about to be sent is written down with Slack's time", () => {
    expect(intend(fresh, STATUS_SLOT, SENT_AT).slots).toEqual({
      status: { channelId: "C1", ts: null, sentAtMs: SENT_AT, looks: 0, cursor: null },
    });
  });

  it("that has arrived is where Slack says it is, and is not sent or looked for again", () => {
    const there = posted(intend(fresh, STATUS_SLOT, SENT_AT), STATUS_SLOT, { channelId: "D1", ts: "2.2" });
    expect(there.slots[STATUS_SLOT]).toMatchObject({ channelId: "D1", ts: "2.2" });
    expect(intend(there, STATUS_SLOT, SENT_AT + 1)).toBe(there);
    expect(recordSearch(there, STATUS_SLOT, null)).toBe(there);
    expect(takeBack(there, STATUS_SLOT, undefined)).toBe(there);
  });

  it("that certainly did not arrive is as if it had not been sent", () => {
    expect(takeBack(intend(fresh, STATUS_SLOT, SENT_AT), STATUS_SLOT, undefined)).toEqual(fresh);
  });

  it("that may have arrived earlier stays open when a later attempt certainly did not arrive", () => {
    const open = recordSearch(intend(fresh, STATUS_SLOT, SENT_AT), STATUS_SLOT, null);
    const before = open.slots[STATUS_SLOT];
    expect(takeBack(intend(open, STATUS_SLOT, SENT_AT + 60_000), STATUS_SLOT, before)).toEqual(open);
  });

  it("that is sent again is looked for from the first time it was sent", () => {
    const open = recordSearch(
      recordSearch(intend(fresh, STATUS_SLOT, SENT_AT), STATUS_SLOT, null),
      STATUS_SLOT,
      "next",
    );
    expect(intend(open, STATUS_SLOT, SENT_AT + 60_000).slots[STATUS_SLOT]).toEqual({
      channelId: "C1",
      ts: null,
      sentAtMs: SENT_AT,
      looks: 0,
      cursor: null,
    });
  });

  it("is looked for page by page; a look counts when it is through", () => {
    const open = intend(fresh, STATUS_SLOT, SENT_AT);
    const halfway = recordSearch(open, STATUS_SLOT, "page-2");
    expect(halfway.slots[STATUS_SLOT]).toMatchObject({ cursor: "page-2", looks: 0 });
    expect(recordSearch(halfway, STATUS_SLOT, null).slots[STATUS_SLOT]).toMatchObject({
      cursor: null,
      looks: 1,
    });
  });

  it("that nobody sent is not looked for", () => {
    expect(recordSearch(fresh, STATUS_SLOT, "page-2")).toBe(fresh);
    expect(takeBack(fresh, STATUS_SLOT, undefined)).toBe(fresh);
  });
});

describe("a turn whose place takes no messages", () => {
  it("reports in the direct message, keeps what it has posted, and looks for nothing where it cannot look", () => {
    const before = intend(
      posted(intend(fresh, STATUS_SLOT, SENT_AT), STATUS_SLOT, { channelId: "C1", ts: "2.2" }),
      outcomeSlot(1),
      SENT_AT,
    );
    const away = moveToDirectMessage(before, "D1", "is_archived");
    expect(away).toMatchObject({ channelId: "D1", threadTs: null, away: "is_archived" });
    expect(Object.keys(away.slots)).toEqual([STATUS_SLOT]);
    expect(intend(away, outcomeSlot(1), SENT_AT).slots[outcomeSlot(1)]).toMatchObject({ channelId: "D1" });
  });
});

/** What can happen to one post of a turn, in any order. */
const events = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("attempt" as const),
      end: fc.constantFrom("not-sent", "unknown", "arrived"),
    }),
    fc.record({ kind: fc.constant("look" as const), cursor: fc.option(fc.constantFrom("a", "b")) }),
    fc.record({ kind: fc.constant("other" as const), name: fc.constantFrom("outcome-1", "outcome-2") }),
  ),
  { maxLength: 30 },
);

it("forgets an attempt only when it certainly did not arrive, and what happens to one post changes no other", () => {
  fc.assert(
    fc.property(events, (given) => {
      let delivery: Delivery = fresh;
      let unknown = 0;
      let hasArrived = false;
      for (const [index, event] of given.entries()) {
        const before = delivery.slots[STATUS_SLOT];
        const others = { ...delivery.slots, [STATUS_SLOT]: null };
        if (event.kind === "look") delivery = recordSearch(delivery, STATUS_SLOT, event.cursor);
        if (event.kind === "attempt" && !hasArrived) {
          delivery = intend(delivery, STATUS_SLOT, SENT_AT + index);
          if (event.end === "not-sent") delivery = takeBack(delivery, STATUS_SLOT, before);
          if (event.end === "unknown") unknown += 1;
          if (event.end === "arrived") {
            delivery = posted(delivery, STATUS_SLOT, { channelId: "C1", ts: "2.2" });
            hasArrived = true;
          }
        }
        if (event.kind !== "other") {
          expect({ ...delivery.slots, [STATUS_SLOT]: null }).toEqual(others);
        } else {
          delivery = intend(delivery, event.name, SENT_AT);
          expect(delivery.slots[STATUS_SLOT]).toEqual(before);
        }
        const slot = delivery.slots[STATUS_SLOT];
        expect(slot !== undefined).toBe(unknown > 0 || hasArrived);
        expect(slot !== undefined && slot.ts !== null).toBe(hasArrived);
        expect(Delivery.parse(delivery)).toEqual(delivery);
      }
    }),
  );
});
