import type { RateLimitedTask } from "../rules/decisions/payload.ts";
import { intend, recordSearch, posted, suspect, takeBack, type Delivery } from "../rules/turn/delivery.ts";
import type { Place } from "../rules/turn/request.ts";
import type { Message, NotifierFault, PostLabel } from "../rules/ports/notifier.ts";
import { isStoreAnswerLost } from "../../shared/errors.ts";
import { AFTER_STORE_FAULT_MS, isGivenUp, retryDelayMs } from "../rules/retry.ts";
import type { ReservedTime } from "../../shared/store/rate-limiter.ts";
import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";

/**
 * Slack allows about one message a second in a channel (docs.slack.dev/apis/web-api/rate-limits).
 * We send a little less, because messages take different times to arrive.
 */
const POST_RATE = { gapMs: 1100 };
/**
 * Slack allows 50 or more look-ups a minute in a workspace. Some apps get one a minute, which a 429
 * then says.
 */
const SEARCH_RATE = { gapMs: 1200, burst: 5 };
/** Slack shows a post in searches only after a moment. */
const SEARCH_AFTER_MS = 3_000;
/** If a post isn't found, one later search follows before it is posted again. */
const SEARCH_AGAIN_AFTER_MS = 8_000;
const SEARCHES = 2;
/** Errors that no later search will change: the app may not read there. Other faults pass. */
const CANNOT_SEARCH: ReadonlySet<string> = new Set(["missing_scope", "not_allowed_token_type"]);
/** Pages per search. At Slack's stricter limits a 429 ends it earlier. */
const PAGES = 4;

/** A post to make once: where it is recorded, and its content. */
type OncePost = {
  teamId: string;
  delivery: Delivery;
  slot: string;
  label: { turnId: string; post: string };
  message: Message;
  /** True if it waits until no other post wants the channel. */
  isPatient?: boolean;
  /** Stores, before the post is sent, that it is about to be. */
  saveIntent: (change: (delivery: Delivery) => Delivery) => Promise<unknown>;
};

/**
 * How an attempt ended. `change` updates the delivery, in the step that ends the task.
 *
 * - `posted`: it is there, posted now or (`isFound`) by an attempt whose answer was lost.
 * - `later`: `end` says when to come again.
 * - `refused`: the place can't take it.
 */
type PostAttempt =
  | { kind: "posted"; isFound: boolean; change: (delivery: Delivery) => Delivery }
  | { kind: "later"; change: (delivery: Delivery) => Delivery; end: TaskEnd }
  | { kind: "refused"; change: (delivery: Delivery) => Delivery; fault: NotifierFault };

type Deps = Pick<TaskDeps, "clock" | "random" | "logger" | "notifier" | "rateLimiter" | "assertHeld">;

/**
 * Posts a message at least once and, as far as Slack can tell, only once. The intent is stored
 * before the post; an attempt that finds an intent without a result first searches for the post.
 * Like every post, it waits for its time at Slack.
 */
export async function postOnce(deps: Deps, task: RateLimitedTask, post: OncePost): Promise<PostAttempt> {
  const { delivery, slot: name } = post;
  const slot = delivery.slots[name];
  if (slot !== undefined && slot.ts !== null) return { kind: "posted", isFound: false, change: same };
  const place = { teamId: post.teamId, channelId: delivery.channelId, threadTs: delivery.threadTs };
  if (slot === undefined && task.deaths > 0) {
    // A store that lost its last writes may have lost that this was sent, and how its run ended.
    await post.saveIntent((current) => suspect(current, name, task.addedAt));
    return waitUntil(task, deps.clock.now());
  }
  if (slot !== undefined && slot.looks < SEARCHES) {
    const searched = await search(deps, task, post, place, slot);
    if (searched !== null) return searched;
  }

  const gate = `post:${place.teamId}:${place.channelId}`;
  const heldMs = task.payload.slotMs;
  const { at, reservedMs } = await (post.isPatient === true
    ? idleTime(deps, gate, heldMs)
    : deps.rateLimiter.reserve(gate, POST_RATE, heldMs));
  if (at > deps.clock.now()) return waitUntil(task, at, { slotMs: reservedMs });
  const sentAtMs = deps.notifier.slackTimeMs();
  try {
    await post.saveIntent((current) => intend(current, name, sentAtMs));
  } catch (thrown) {
    if (!isStoreAnswerLost(thrown)) throw thrown;
    // The intent may be stored although nothing was sent, so no search is needed.
    return {
      kind: "later",
      change: (current) => takeBack(current, name, slot),
      end: retryAt(task, deps.clock.now() + AFTER_STORE_FAULT_MS, thrown.message),
    };
  }
  deps.assertHeld();
  const answer = await deps.notifier.post(place, post.message, post.label);
  if (answer.ok) {
    return { kind: "posted", isFound: false, change: (current) => posted(current, name, answer.value) };
  }
  const { fault } = answer;
  const change = fault.kind === "unknown" ? same : (current: Delivery) => takeBack(current, name, slot);
  if (fault.kind === "place") return { kind: "refused", change, fault };
  return { kind: "later", change, end: await afterFault(deps, task, fault, gate) };
}

/**
 * How a task ends after a fault at Slack: it is retried for a day. If Slack says when to come
 * again, `gate` is closed until then.
 */
export async function afterFault(
  deps: Pick<TaskDeps, "clock" | "random" | "rateLimiter">,
  task: RateLimitedTask,
  fault: NotifierFault,
  gate?: string,
): Promise<TaskEnd> {
  const now = deps.clock.now();
  const { retryAfterMs } = fault;
  if (retryAfterMs !== undefined && gate !== undefined)
    await deps.rateLimiter.postpone(gate, now + retryAfterMs);
  if (isGivenUp(task, now)) {
    return { kind: "dead", reason: `given up after a day of faults, the last: ${fault.error}` };
  }
  // Slack says when to come again. Waiting longer each time would only give our place to others.
  const attempt = retryAfterMs === undefined ? task.attempt : 1;
  const delayMs = retryDelayMs({ attempt, retryAfterMs: retryAfterMs ?? 0, random: deps.random() });
  return retryAt(task, now + delayMs, fault.error);
}

/** How a task waits for its time, which is reserved once. Null if it has come. */
export async function untilReserved(
  { clock, rateLimiter }: Pick<TaskDeps, "clock" | "rateLimiter">,
  { payload }: RateLimitedTask,
  gate: string,
  rate: Parameters<TaskDeps["rateLimiter"]["reserve"]>[1],
): Promise<TaskEnd | null> {
  const { at, reservedMs } = await rateLimiter.reserve(gate, rate, payload.slotMs);
  return at > clock.now() ? { kind: "wait", dueAt: at, payload: { ...payload, slotMs: reservedMs } } : null;
}

/** Retries without the task's reserved times, so that it reserves new ones. */
function retryAt({ payload }: RateLimitedTask, dueAt: number, reason: string): TaskEnd {
  const { slotMs: _, lookMs: __, ...rest } = payload;
  return { kind: "retry", dueAt, reason, payload: rest };
}

/**
 * A time that isn't reserved ahead, so that other posts are delayed by one gap at most. Posts that
 * wait like this take turns, and at most every second time.
 */
async function idleTime(
  { rateLimiter, clock }: Deps,
  gate: string,
  heldMs: number | undefined,
): Promise<ReservedTime> {
  const turn = await rateLimiter.reserve(`patient:${gate}`, { gapMs: 2 * POST_RATE.gapMs }, heldMs);
  const lateMs = clock.now() - turn.at;
  if (lateMs < 0) return turn;
  const taken = await rateLimiter.takeIfIdle(gate, POST_RATE);
  const laterMs = lateMs + POST_RATE.gapMs;
  return taken ?? { at: turn.at + laterMs, reservedMs: turn.reservedMs + laterMs };
}

/** `reserved` are the task's reserved times that change. */
function waitUntil(
  { payload }: RateLimitedTask,
  dueAt: number,
  reserved: RateLimitedTask["payload"] = {},
  change = same,
): PostAttempt {
  return { kind: "later", change, end: { kind: "wait", dueAt, payload: { ...payload, ...reserved } } };
}

/**
 * Searches for a post whose answer was lost. Null means that it isn't there, as far as Slack can
 * tell.
 */
async function search(
  deps: Deps,
  task: RateLimitedTask,
  { delivery, slot: name, label }: OncePost,
  place: Place,
  slot: { sentAtMs: number; looks: number; cursor: string | null },
): Promise<PostAttempt | null> {
  const wait = (ms: number, change?: (delivery: Delivery) => Delivery) =>
    waitUntil(task, deps.clock.now() + ms, { lookMs: undefined }, change);
  const sinceMs = deps.notifier.slackTimeMs() - slot.sentAtMs;
  const searchAfterMs = slot.looks === 0 ? SEARCH_AFTER_MS : SEARCH_AGAIN_AFTER_MS;
  if (sinceMs >= 0 && sinceMs < searchAfterMs) return wait(searchAfterMs - sinceMs);
  const gate = `look:${place.teamId}`;
  const look = await deps.rateLimiter.reserve(gate, SEARCH_RATE, task.payload.lookMs);
  if (look.at > deps.clock.now()) return waitUntil(task, look.at, { lookMs: look.reservedMs });
  let { cursor } = slot;
  for (let page = 0; page < PAGES; page += 1) {
    const found = await deps.notifier.find(place, label, { sentAtMs: sentAt(deps, slot), cursor });
    const upTo = cursor;
    if (!found.ok && (found.fault.kind === "place" || CANNOT_SEARCH.has(found.fault.error))) {
      // A duplicate post is better than a missing outcome.
      deps.logger.warn(
        { slot: name, error: found.fault.error },
        "cannot look for an earlier post; posting again",
      );
      return null;
    }
    if (!found.ok) {
      const change = (current: Delivery) => (upTo === null ? current : recordSearch(current, name, upTo));
      return { kind: "later", change, end: await afterFault(deps, task, found.fault, gate) };
    }
    const { ts, next } = found.value;
    if (ts !== null) {
      const { channelId } = delivery;
      return { kind: "posted", isFound: true, change: (now) => posted(now, name, { channelId, ts }) };
    }
    cursor = next;
    if (cursor === null) break;
  }
  const upTo = cursor;
  if (upTo !== null) return wait(0, (current) => recordSearch(current, name, upTo));
  if (slot.looks + 1 >= SEARCHES) return null;
  return wait(SEARCH_AGAIN_AFTER_MS, (current) => recordSearch(current, name, null));
}

function sentAt({ clock, notifier }: Deps, { sentAtMs }: { sentAtMs: number }): number {
  const slackMs = notifier.slackTimeMs();
  if (sentAtMs <= slackMs) return sentAtMs;
  // This is in the future for Slack: it was this machine's time, because Slack hadn't given its own
  // yet.
  return slackMs - Math.max(0, clock.now() - sentAtMs);
}

function same(delivery: Delivery): Delivery {
  return delivery;
}

/**
 * Slack allows 50 or more updates a minute in a workspace (tier 3,
 * docs.slack.dev/apis/web-api/rate-limits). This makes 45 a minute, and five at once after a pause.
 */
export const UPDATE_RATE = { gapMs: 1334, burst: 5 };

/** The gate that updates in a workspace wait for. */
export function updateGate(teamId: string): string {
  return `update:${teamId}`;
}

/**
 * How an attempt ended. `refused` is Slack's error if the post can no longer be updated. `end` says
 * when to come again.
 */
type PostUpdate = { kind: "updated"; refused: string | null } | { kind: "later"; end: TaskEnd };

/** Deletes a post once its time at Slack has come. Idempotent: a post that is gone is deleted. */
export async function removePost(
  deps: Pick<TaskDeps, "clock" | "random" | "logger" | "notifier" | "rateLimiter">,
  task: RateLimitedTask,
  { place, ts, label }: { place: Place; ts: string; label: PostLabel },
): Promise<PostUpdate> {
  const gate = updateGate(place.teamId);
  const end = await untilReserved(deps, task, gate, UPDATE_RATE);
  if (end !== null) return { kind: "later", end };
  const removed = await deps.notifier.remove(place, ts);
  if (removed.ok) return { kind: "updated", refused: null };
  const { kind, error } = removed.fault;
  if (kind !== "place") return { kind: "later", end: await afterFault(deps, task, removed.fault, gate) };
  if (error === "message_not_found") return { kind: "updated", refused: null };
  deps.logger.warn({ error, post: label.post }, "a message can't be deleted");
  return { kind: "updated", refused: error };
}

/** Replaces a post's content once its time at Slack has come. Idempotent. */
export async function updatePost(
  deps: Pick<TaskDeps, "clock" | "random" | "logger" | "notifier" | "rateLimiter">,
  task: RateLimitedTask,
  post: { place: Place; ts: string; message: Message; label: PostLabel },
): Promise<PostUpdate> {
  const { place } = post;
  const gate = updateGate(place.teamId);
  const end = await untilReserved(deps, task, gate, UPDATE_RATE);
  if (end !== null) return { kind: "later", end };
  const updated = await deps.notifier.update(place, post.ts, post.message, post.label);
  if (updated.ok) return { kind: "updated", refused: null };
  const { kind, error } = updated.fault;
  if (kind !== "place") return { kind: "later", end: await afterFault(deps, task, updated.fault, gate) };
  deps.logger.warn({ error, post: post.label.post }, "a message can no longer be updated");
  return { kind: "updated", refused: error };
}
