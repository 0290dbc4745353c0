import type {
  Message,
  Notifier,
  NotifierAnswer,
  NotifierFault,
  Place,
  Posted,
  PostLabel,
} from "../core/notifier.ts";
import type { PostSlot, Posts } from "../core/records.ts";
import type { TaskDeps } from "./deps.ts";

type Deps = Pick<TaskDeps, "clock" | "logger" | "notifier"> & { records: Pick<TaskDeps["records"], "posts"> };

export type PostedOnce =
  | { ok: true; posts: Posts; ts: string }
  | { ok: false; posts: Posts; fault: NotifierFault };

/**
 * Posts a message under a slot name, at least once and, as far as Slack can tell, only once: the intent is saved before the
 * post; a later attempt that finds an intent without a result first looks whether the post is already there.
 */
export async function postOnce(
  deps: Deps,
  teamId: string,
  posts: Posts,
  slotName: string,
  message: Message,
): Promise<PostedOnce> {
  const { turnId } = posts;
  const place = { teamId, ...posts.place };
  const label = { turnId, post: slotName };
  const slot = posts.slots[slotName];
  if (slot !== undefined && slot.ts !== null) return { ok: true, posts, ts: slot.ts };

  let current = posts;
  if (slot !== undefined && slot.intentAt !== null) {
    const found = await findAll(deps, place, label, slot.intentAt);
    if (found.ok && found.value.ts !== null) {
      const { channelId } = place;
      return posted(deps, current, slotName, { channelId, ts: found.value.ts });
    }
    if (!found.ok && !cannotLook(found)) return { ok: false, posts: current, fault: found.fault };
    if (!found.ok) {
      // A post said twice is better than an outcome said never.
      deps.logger.warn(
        { slot: slotName, fault: found.fault },
        "cannot look for an earlier post; posting again",
      );
    }
  } else {
    const intent: PostSlot = { channelId: place.channelId, ts: null, intentAt: deps.notifier.slackTimeMs() };
    current = await save(deps, current, slotName, intent);
  }

  const answer = await deps.notifier.post(place, message, label);
  if (answer.ok) return posted(deps, current, slotName, answer.value);
  if (answer.fault.kind !== "unknown") {
    // Certainly not there: the next attempt has nothing to look for.
    current = await save(deps, current, slotName, undefined);
  }
  return { ok: false, posts: current, fault: answer.fault };
}

const MAX_LOOKS = 10;

async function findAll(
  deps: Deps,
  place: Place,
  label: PostLabel,
  sentAtMs: number,
): Promise<NotifierAnswer<{ ts: string | null }>> {
  let cursor: string | null = null;
  for (let look = 0; look < MAX_LOOKS; look += 1) {
    const found: Awaited<ReturnType<Notifier["find"]>> = await deps.notifier.find(place, label, {
      sentAtMs,
      cursor,
    });
    if (!found.ok || found.value.ts !== null || found.value.next === null) return found;
    cursor = found.value.next;
  }
  return { ok: true, value: { ts: null } };
}

function cannotLook(answer: NotifierAnswer<unknown>): boolean {
  return !answer.ok && (answer.fault.kind === "place" || answer.fault.kind === "credentials");
}

async function posted(
  deps: Deps,
  posts: Posts,
  slotName: string,
  { channelId, ts }: Posted,
): Promise<PostedOnce> {
  const slot: PostSlot = { channelId, ts, intentAt: null };
  const there: Posts = { ...posts, place: { ...posts.place, channelId } };
  return { ok: true, posts: await save(deps, there, slotName, slot), ts };
}

async function save(deps: Deps, posts: Posts, slotName: string, slot: PostSlot | undefined): Promise<Posts> {
  const { [slotName]: _, ...others } = posts.slots;
  const next: Posts = { ...posts, slots: slot === undefined ? others : { ...others, [slotName]: slot } };
  await deps.records.posts.set(posts.turnId, next);
  return next;
}
