import { STATUS_SLOT, moveToDirectMessage, type Delivery } from "../rules/turn/delivery.ts";
import type { Message, MessageOf, NotifierFault } from "../rules/ports/notifier.ts";
import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import type { Turn } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import type { TaskWith, TurnPayload } from "../rules/decisions/payload.ts";
import { afterFault, postOnce, updatePost } from "./post.ts";
import { changeTurn } from "../rules/decisions/turn-writes.ts";
import { type Step, type ThreadRecord, threadIdOf } from "../rules/records.ts";

type Change = (delivery: Delivery) => Delivery;
type TurnTask = TaskWith<TurnPayload>;

/**
 * Either the post is there, and `change` records it in the delivery, or `step` ends this run of the
 * task. `isFault` is true if Slack refused it for now.
 */
type TurnPost =
  | { kind: "posted"; isFound: boolean; change: Change }
  | { kind: "not-yet"; step: Step; isFault?: boolean };

/**
 * Posts a message where the turn reports, once. If that place can't take it, the turn moves to a
 * direct message with the requester. With `isPatient` it waits until no other post wants the
 * channel.
 */
export async function postForTurn(
  deps: TaskDeps,
  task: TurnTask,
  turn: Turn,
  slot: string,
  message: Message,
  isPatient = false,
): Promise<TurnPost> {
  const attempt = await postOnce(deps, task, {
    teamId: turn.request.teamId,
    delivery: turn.delivery,
    slot,
    label: { turnId: turn.id, post: slot },
    message,
    isPatient,
    saveIntent: (change) => deps.commit(stepOf(deps, turn.id, change)),
  });
  if (attempt.kind === "posted") return attempt;
  const { change } = attempt;
  if (attempt.kind === "refused") {
    return { kind: "not-yet", step: await reportDirectly(deps, task, turn, change, attempt.fault) };
  }
  const isFault = attempt.end.kind === "retry";
  return { kind: "not-yet", step: stepOf(deps, turn.id, change, attempt.end), isFault };
}

/** Like {@link postForTurn}, but updates the post if it is already there. */
async function postOrUpdate(
  deps: TaskDeps,
  task: TurnTask,
  turn: Turn,
  slot: string,
  message: Message,
): Promise<TurnPost> {
  const { delivery, request } = turn;
  const post = delivery.slots[slot];
  if (post === undefined || post.ts === null) return postForTurn(deps, task, turn, slot, message);
  const updated = await updatePost(deps, task, {
    place: { teamId: request.teamId, channelId: post.channelId, threadTs: delivery.threadTs },
    ts: post.ts,
    message,
    label: { turnId: turn.id, post: slot },
  });
  if (updated.kind === "later") return { kind: "not-yet", step: updated.end };
  return { kind: "posted", isFound: false, change: (unchanged) => unchanged };
}

/**
 * A message about a changing part of a turn: its slot, its content, and the name of the state it
 * shows.
 */
type PartOfTurn = { slot: string; message: MessageOf<"question" | "overdue">; key: string };

/**
 * Posts or updates a message about a part of a turn. `note` records in the turn what the message
 * shows. It runs again if `isDue` says that the part has changed meanwhile.
 */
export async function showPart(
  deps: TaskDeps,
  task: TurnTask,
  turn: Turn,
  { slot, message, key }: PartOfTurn,
  note: (turn: Turn, shown: string) => Turn,
  isDue: (turn: Turn) => boolean,
): Promise<Step> {
  const said = { ...message, ...(await postExtras(deps, turn, slot, await threadRecordOf(deps, turn))) };
  const attempt = await postOrUpdate(deps, task, turn, slot, said);
  if (attempt.kind !== "posted") return attempt.step;
  // A post by an earlier attempt shows the state of that time.
  const shown = attempt.isFound ? "" : key;
  const { slotMs: _, lookMs: __, ...payload } = task.payload;
  return changeTurn(
    deps,
    turn.id,
    (now) => note({ ...now, delivery: attempt.change(now.delivery) }, shown),
    (noted) => (isDue(noted) ? { value: { kind: "again", dueAt: deps.clock.now(), payload } } : {}),
  );
}

/**
 * What a post of a turn adds to its message. `movedBecause` is the reason why it is in a direct
 * message. It is null if the post is where the request was made, or if the status message already
 * gives the reason. `muted` are the people not to mention in the turn's thread.
 */
export async function postExtras(
  { records }: Pick<TaskDeps, "records">,
  turn: Turn,
  slot: string,
  thread: ThreadRecord | undefined,
): Promise<{ movedBecause: string | null; muted: readonly string[] }> {
  const { delivery, request } = turn;
  const { slots, channelId, away } = delivery;
  const at = slots[slot]?.channelId ?? channelId;
  const isExplained = at === request.channelId || slots[STATUS_SLOT]?.channelId === at;
  // Also those who muted the thread that the turn reported to before it moved.
  const threadTs = request.threadTs ?? slots[STATUS_SLOT]?.ts ?? null;
  const id = away === null ? null : threadIdOf({ ...request, threadTs });
  const before = id === null ? undefined : await records.get("thread", id);
  const muted = [...(thread?.muted ?? []), ...(before?.muted ?? [])];
  return { movedBecause: isExplained ? null : away, muted };
}

/** The record of the thread that a turn reports to. */
export async function threadRecordOf(
  { records }: Pick<TaskDeps, "records">,
  { request: { teamId }, delivery }: Turn,
): Promise<ThreadRecord | undefined> {
  const id = threadIdOf({ teamId, ...delivery });
  return id === null ? undefined : await records.get("thread", id);
}

async function reportDirectly(
  deps: TaskDeps,
  task: TurnTask,
  turn: Turn,
  change: Change,
  refused: NotifierFault,
): Promise<Step> {
  const { request } = turn;
  const { error } = refused;
  if (turn.delivery.away !== null) return stepOf(deps, turn.id, change, { kind: "dead", reason: error });
  const dm = await deps.notifier.openDirectMessage(request.userId);
  if (!dm.ok && dm.fault.kind === "place") {
    return stepOf(deps, turn.id, change, { kind: "dead", reason: `${error}; ${dm.fault.error}` });
  }
  if (!dm.ok) return stepOf(deps, turn.id, change, await afterFault(deps, task, dm.fault));
  deps.logger.warn(
    { error, channel: turn.delivery.channelId },
    "cannot post there; reporting in a direct message",
  );
  await inviteMe(deps, turn, error);
  const { slotMs: _, ...payload } = task.payload;
  const { channelId } = dm.value;
  const again = { kind: "again" as const, dueAt: deps.clock.now(), payload };
  return stepOf(deps, turn.id, (delivery) => moveToDirectMessage(change(delivery), channelId, error), again);
}

/**
 * Tells the requester, where they asked, how to invite the app. The direct message that follows
 * says the same, so this one may be lost.
 */
async function inviteMe(deps: TaskDeps, { request, delivery }: Turn, error: string): Promise<void> {
  if (request.responseUrl === null) return;
  const { teamId, channelId, userId, responseUrl } = request;
  const reply = await deps.notifier.replyPrivately(
    { place: { teamId, channelId, threadTs: delivery.threadTs }, userId, responseUrl },
    { kind: "invite-me", channelId, error },
  );
  if (!reply.ok) {
    deps.logger.warn({ error: reply.fault.error }, "could not say privately how to invite the app");
  }
}

function stepOf(deps: TaskDeps, turnId: string, change: Change, end: TaskEnd = { kind: "done" }) {
  const changed = (turn: Turn): Turn => {
    const delivery = change(turn.delivery);
    return delivery === turn.delivery ? turn : { ...turn, delivery };
  };
  return changeTurn(deps, turnId, changed, () => ({ value: end }));
}
