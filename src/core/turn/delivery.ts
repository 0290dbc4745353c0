import { z } from "zod";
import { storedObject } from "../ports/stored-object.ts";

/** One post of a turn. Without a `ts` it was about to be sent, and whether it arrived is for Slack to say. */
const PostSlot = storedObject({
  channelId: z.string(),
  ts: z.string().nullable(),
  /** Slack's time when it was first sent, epoch milliseconds. */
  sentAtMs: z.number(),
  /** How often all of the place was looked through for it, in vain. */
  looks: z.number().int(),
  /** Where a look that did not come to an end goes on. */
  cursor: z.string().nullable(),
});
type PostSlot = z.infer<typeof PostSlot>;

/** The slot of the status message: the root message, or the first reply, that is updated in place. */
export const STATUS_SLOT = "status";

/** The slot of the notice that a turn takes longer than usual. */
export const OVERDUE_SLOT = "overdue";

/** The slot of the outcome of one watch. */
export function outcomeSlot(watch: number): string {
  return `outcome-${watch}`;
}

/** The slot of a question, by its number among those of the turn. */
export function questionSlot(number: number): string {
  return `question-${number}`;
}

/** Whether the post of that name is an outcome. */
export function isOutcomeSlot(name: string): boolean {
  return name.startsWith("outcome-");
}

/** Where a turn reports and what it has posted there. */
export const Delivery = storedObject({
  /** `threadTs` is null until a root message of its own is there. */
  channelId: z.string(),
  threadTs: z.string().nullable(),
  /** Why it reports in a direct message instead of where it was asked: Slack's error code; null: it does not. */
  away: z.string().nullable(),
  slots: z.record(z.string(), PostSlot),
  /** The state that the status message shows. */
  shown: z.string().nullable(),
  /** Slack's error where it did not let the status message be updated the last time; absent: it did. */
  refusedUpdate: z.string().optional(),
  /** The turn whose status message shows this one too. Absent: it has one of its own. */
  statusOf: z.string().optional(),
  /** The turns that the status message shows besides its own, oldest first. */
  alsoShows: z.array(z.string()).optional(),
});
export type Delivery = z.infer<typeof Delivery>;

/** Whether the post of that name is known to have arrived. */
export function isPosted({ slots }: Pick<Delivery, "slots">, name: string): boolean {
  return (slots[name]?.ts ?? null) !== null;
}

/** Whether the status message that shows the turn is there. */
export function hasStatusMessage(delivery: Delivery): boolean {
  return delivery.statusOf !== undefined || isPosted(delivery, STATUS_SLOT);
}

export function newDelivery(place: { channelId: string; threadTs: string | null }): Delivery {
  return { channelId: place.channelId, threadTs: place.threadTs, away: null, slots: {}, shown: null };
}

/**
 * A post is about to be sent. Where one was sent before and is not known to have arrived, that stays open too: both are looked for
 * from then on. One that has arrived stays as it is.
 */
export function intend(delivery: Delivery, name: string, sentAtMs: number): Delivery {
  const before = delivery.slots[name];
  if (before !== undefined && before.ts !== null) return delivery;
  const slot: PostSlot = {
    channelId: delivery.channelId,
    ts: null,
    sentAtMs: before?.sentAtMs ?? sentAtMs,
    looks: 0,
    cursor: null,
  };
  return { ...delivery, slots: { ...delivery.slots, [name]: slot } };
}

/** Nothing says that a post was sent, and yet it may have been, at that time or later: it is looked for once. */
export function suspect(delivery: Delivery, name: string, sentAtMs: number): Delivery {
  if (delivery.slots[name] !== undefined) return delivery;
  const slot: PostSlot = { channelId: delivery.channelId, ts: null, sentAtMs, looks: 1, cursor: null };
  return { ...delivery, slots: { ...delivery.slots, [name]: slot } };
}

/** The post is there. */
export function posted(delivery: Delivery, name: string, post: { channelId: string; ts: string }): Delivery {
  const sentAtMs = delivery.slots[name]?.sentAtMs ?? 0;
  const slot: PostSlot = { ...post, sentAtMs, looks: 0, cursor: null };
  return { ...delivery, slots: { ...delivery.slots, [name]: slot } };
}

/**
 * The post that was intended last certainly did not arrive; `before` is the slot as it was before that intent. Whether an earlier one
 * arrived is as open as it was.
 */
export function takeBack(delivery: Delivery, name: string, before: PostSlot | undefined): Delivery {
  const { [name]: slot, ...others } = delivery.slots;
  if (slot === undefined || slot.ts !== null) return delivery;
  return { ...delivery, slots: before === undefined ? others : { ...others, [name]: before } };
}

/** A look for the post has got as far as `cursor`; null: it went through everything. */
export function looked(delivery: Delivery, name: string, cursor: string | null): Delivery {
  const slot = delivery.slots[name];
  if (slot === undefined || slot.ts !== null) return delivery;
  const next = { ...slot, cursor, looks: cursor === null ? slot.looks + 1 : slot.looks };
  return { ...delivery, slots: { ...delivery.slots, [name]: next } };
}

/** The place cannot take the turn's messages: it reports in a direct message from now on. */
export function moveAway(delivery: Delivery, channelId: string, error: string): Delivery {
  const posts = Object.entries(delivery.slots).filter(([, slot]) => slot.ts !== null);
  return { ...delivery, channelId, threadTs: null, away: error, slots: Object.fromEntries(posts) };
}
