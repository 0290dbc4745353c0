import { z } from "zod";
import { storedObject } from "../../../shared/contract/reading.ts";

/** A post of a turn. Until it has a `ts`, only Slack knows if it arrived. */
const PostSlot = storedObject({
  channelId: z.string(),
  ts: z.string().nullable(),
  /** Time of the first attempt by Slack's clock, epoch milliseconds. */
  sentAtMs: z.number(),
  /** Complete searches of the channel or thread that didn't find it. */
  looks: z.number().int(),
  /** Where an unfinished search continues. */
  cursor: z.string().nullable(),
});
type PostSlot = z.infer<typeof PostSlot>;

/** The status message is the root message or the first reply, and is updated in place. */
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

/** The slot of a piece of news about the pull request. */
export function newsSlot(id: string): string {
  return `news-${id}`;
}

export function isOutcomeSlot(name: string): boolean {
  return name.startsWith("outcome-");
}

/** Where a turn reports and what it has posted there. */
export const Delivery = storedObject({
  channelId: z.string(),
  /** Null until the turn has posted its own root message. */
  threadTs: z.string().nullable(),
  /** Slack's error code that moved the reports to a direct message. Null if they haven't moved. */
  away: z.string().nullable(),
  slots: z.record(z.string(), PostSlot),
  /** The state that the status message shows. */
  shown: z.string().nullable(),
  /** Slack's error if it refused the latest update of the status message. */
  refusedUpdate: z.string().optional(),
  /** True if the status message was deleted, because the outcome says all that it said. */
  isStatusGone: z.boolean().optional(),
  /** The turn whose status message also shows this one. Absent if it has its own. */
  statusOf: z.string().optional(),
  /** Other turns that this turn's status message shows, oldest first. */
  alsoShows: z.array(z.string()).optional(),
});
export type Delivery = z.infer<typeof Delivery>;

/** True only if Slack confirmed the post or a search found it. */
export function isPosted({ slots }: Pick<Delivery, "slots">, name: string): boolean {
  return (slots[name]?.ts ?? null) !== null;
}

export function hasStatusMessage(delivery: Delivery): boolean {
  return delivery.statusOf !== undefined || isPosted(delivery, STATUS_SLOT);
}

export function newDelivery(place: { channelId: string; threadTs: string | null }): Delivery {
  return { channelId: place.channelId, threadTs: place.threadTs, away: null, slots: {}, shown: null };
}

/**
 * Records that a post is about to be sent. If an earlier attempt may have arrived, searches cover
 * both. A post that has arrived stays as it is.
 */
export function intend(delivery: Delivery, name: string, sentAtMs: number): Delivery {
  const before = delivery.slots[name];
  if (before !== undefined && before.ts !== null) return delivery;
  const slot = { channelId: delivery.channelId, ts: null, sentAtMs: before?.sentAtMs ?? sentAtMs };
  return withSlot(delivery, name, { ...slot, looks: 0, cursor: null });
}

/** Asks for one search for a post that may have been sent, unrecorded, at that time or later. */
export function suspect(delivery: Delivery, name: string, sentAtMs: number): Delivery {
  if (delivery.slots[name] !== undefined) return delivery;
  const { channelId } = delivery;
  return withSlot(delivery, name, { channelId, ts: null, sentAtMs, looks: 1, cursor: null });
}

export function posted(delivery: Delivery, name: string, post: { channelId: string; ts: string }): Delivery {
  const sentAtMs = delivery.slots[name]?.sentAtMs ?? 0;
  return withSlot(delivery, name, { ...post, sentAtMs, looks: 0, cursor: null });
}

/**
 * Undoes the latest intent after its post certainly failed. `before` is the slot as it was then, so
 * an earlier attempt that may have arrived is still searched for.
 */
export function takeBack(delivery: Delivery, name: string, before: PostSlot | undefined): Delivery {
  const { [name]: slot, ...others } = delivery.slots;
  if (slot === undefined || slot.ts !== null) return delivery;
  return { ...delivery, slots: before === undefined ? others : { ...others, [name]: before } };
}

/** Records how far a search for the post got. A null cursor means it was complete. */
export function recordSearch(delivery: Delivery, name: string, cursor: string | null): Delivery {
  const slot = delivery.slots[name];
  if (slot === undefined || slot.ts !== null) return delivery;
  const looks = cursor === null ? slot.looks + 1 : slot.looks;
  return withSlot(delivery, name, { ...slot, cursor, looks });
}

function withSlot(delivery: Delivery, name: string, slot: PostSlot): Delivery {
  return { ...delivery, slots: { ...delivery.slots, [name]: slot } };
}

/** Reports where a post is from now on. The first message in direct messages begins the thread. */
export function settledAt(delivery: Delivery, name: string): Delivery {
  const { channelId = delivery.channelId, ts = null } = delivery.slots[name] ?? {};
  return { ...delivery, channelId, threadTs: delivery.threadTs ?? ts };
}

/** Moves the turn's reports to a direct message because its place can't take them. */
export function moveToDirectMessage(delivery: Delivery, channelId: string, error: string): Delivery {
  const posts = Object.entries(delivery.slots).filter(([, slot]) => slot.ts !== null);
  return { ...delivery, channelId, threadTs: null, away: error, slots: Object.fromEntries(posts) };
}
