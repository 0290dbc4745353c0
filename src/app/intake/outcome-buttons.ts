import { createHash } from "node:crypto";
import type { App, BlockAction, Context } from "@slack/bolt";
import { changeRefusal } from "../rules/access.ts";
import { isPosted, outcomeSlot } from "../rules/turn/delivery.ts";
import { maySteer, notAllowed, noteVote, votesOf } from "../rules/thread/people.ts";
import type { Plan, Read } from "../rules/records.ts";
import type { Request } from "../rules/turn/request.ts";
import { askedAgain } from "../rules/thread/messages-to-share.ts";
import { canKeepWatching, isFollowUp, pressButton, resumeTurn, type Turn } from "../rules/turn/turn.ts";
import {
  ACTIONS,
  buttonValue,
  feedbackValue,
  type ButtonValue,
  type FeedbackValue,
} from "../messages/actions.ts";
import { refusalMessage } from "../messages/refusal-message.ts";
import { ALREADY_WATCHING, FINISHED, ON_ITS_WAY, THANKS } from "../messages/short-answers.ts";
import { closeTask, diffTask, reactTasks, refreshTask, watchTask } from "../rules/decisions/new-tasks.ts";
import { turnWrites } from "../rules/decisions/turn-writes.ts";
import { acceptRequest } from "./accept-request.ts";
import type { IntakeDeps } from "./deps.ts";
import { alreadyDone, onPress, placeOfPress, threadOfMessage, tooOld, type PressAnswer } from "./press.ts";

/**
 * The buttons of outcome messages. Presses are kept in the turn's record, as long as that is kept.
 */
export function registerOutcomeButtons(app: App, deps: IntakeDeps): void {
  // Slack itself opens a button's URL, but still expects an ack.
  for (const actionId of [ACTIONS.viewPullRequest, ACTIONS.viewMessage])
    app.action(actionId, ({ ack }) => ack());

  onPress(app, deps, ACTIONS.tryAgain, buttonValue, (pressed, body) => tryAgain(deps, pressed, body));
  onPress(app, deps, ACTIONS.showChanges, buttonValue, (pressed, body, context) =>
    // Whoever reads the thread may read the change, too.
    askService(deps, pressed, body, context, { may: () => true, task: diffTask }),
  );
  onPress(app, deps, ACTIONS.closePullRequest, buttonValue, async (pressed, body, context) => {
    const refusal = changeRefusal(deps.access, body.channel?.id ?? "");
    if (refusal !== null) return refusalMessage(refusal, deps);
    // The thread hears of the close as of any other.
    return askService(deps, pressed, body, context, {
      may: (turn) => maySteer(deps.followUps, turn, body.user.id),
      task: closeTask,
    });
  });
  onPress(app, deps, ACTIONS.keepWatching, buttonValue, (pressed, { user }) =>
    deps.queue.commit((read) => keepWatching(deps, read, pressed, user.id)),
  );
  for (const actionId of [ACTIONS.feedback, ACTIONS.feedbackYes, ACTIONS.feedbackNo]) {
    onPress(app, deps, actionId, feedbackValue, (voted, { user }) => vote(deps, voted, user.id));
  }
}

/** Makes the same request again for the person who pressed the button, in the button's thread. */
async function tryAgain(
  deps: IntakeDeps,
  { turnId, watch }: ButtonValue,
  body: BlockAction,
): Promise<PressAnswer> {
  const turn = await deps.records.get("turn", turnId);
  if (turn === undefined) return tooOld(deps);
  // The request would go to another person's job, and this person would become a requester there.
  if (isFollowUp(turn) && !maySteer(deps.followUps, turn, body.user.id)) return notAllowed(turn);
  const before = turn.pressed[watch];
  if (before?.action === "try-again") return alreadyDone(before.userId, body.user.id);
  const request = again(deps, turn, watch, body);
  const accepted = await acceptRequest(deps, request);
  if (accepted.kind === "refused") return refusalMessage(accepted.refusal, deps);
  return deps.queue.commit((read) => {
    const now = read("turn", turnId);
    // If two people press at once, the accepted request says who did it.
    const userId = read("turn", request.id)?.request.userId ?? body.user.id;
    const isNoted = now === undefined || now.pressed[watch]?.action === "try-again";
    const press = { action: "try-again", userId } as const;
    return {
      writes: isNoted ? [] : turnWrites(deps, read, pressButton(now, watch, press)),
      value: accepted.kind === "known" ? alreadyDone(userId, body.user.id) : null,
    };
  });
}

/** Starts the next watch of a turn whose last watch ended without the job's end being known. */
function keepWatching(
  deps: IntakeDeps,
  read: Read,
  { turnId, watch }: ButtonValue,
  userId: string,
): Plan<string | null> {
  const turn = read("turn", turnId);
  if (turn === undefined) return { value: tooOld(deps) };
  if (turn.stage.name !== "ended") return { value: ALREADY_WATCHING };
  if (!canKeepWatching(turn)) return { value: FINISHED };
  // For an older button: the outcome of a later watch may still be waiting to be posted, and
  // would then never be.
  const isSaid = isPosted(turn.delivery, outcomeSlot(turn.watch));
  if (watch !== turn.watch && !isSaid) return { value: ON_ITS_WAY };
  const now = deps.clock.now();
  const resumed = resumeTurn(pressButton(turn, watch, { action: "keep-watching", userId }), now);
  return {
    writes: turnWrites(deps, read, resumed),
    adds: [watchTask(resumed, now), refreshTask(resumed), ...reactTasks(resumed)],
    value: null,
  };
}

/** Asks the job service for something about a turn, for whoever pressed and `may` do that. */
async function askService(
  deps: IntakeDeps,
  { turnId }: ButtonValue,
  body: BlockAction,
  context: Pick<Context, "teamId">,
  { may, task }: { may: (turn: Turn) => boolean; task: typeof diffTask | typeof closeTask },
): Promise<PressAnswer> {
  const turn = await deps.records.get("turn", turnId);
  if (turn === undefined) return tooOld(deps);
  if (!may(turn)) return notAllowed(turn);
  const asked = { ...placeOfPress(body, context), turnId };
  await deps.queue.add(task(`press:${body.trigger_id}`, turn.request.project.service, asked));
  return null;
}

function again({ clock }: IntakeDeps, turn: Turn, watch: number, body: BlockAction): Request {
  const { retries, userId } = turn.request;
  const author = retries === undefined ? userId : retries.userId;
  return {
    ...askedAgain(turn.request),
    // Hashed, so that the id doesn't grow with each retry.
    id: `again:${createHash("sha256").update(`${turn.id}\n${watch}`).digest("hex").slice(0, 32)}`,
    from: "try-again",
    retries: { turnId: turn.id, ...(author !== undefined && { userId: author }) },
    channelId: body.channel?.id ?? turn.delivery.channelId,
    threadTs: threadOfMessage(body),
    userId: body.user.id,
    responseUrl: body.response_url ?? null,
    receivedAt: clock.now(),
  };
}

/**
 * Keeps each person's last vote on whether an outcome was helpful with the turn, and logs it.
 * Returns the answer, or null if the vote was already known.
 */
async function vote(
  deps: IntakeDeps,
  { turnId, vote }: FeedbackValue,
  userId: string,
): Promise<string | null> {
  const noted = await deps.queue.commit((read) => {
    const turn = read("turn", turnId);
    if (turn === undefined) return { value: null };
    const voted = noteVote(turn, userId, vote);
    return voted === turn ? { value: null } : { writes: turnWrites(deps, read, voted), value: voted };
  });
  if (noted === null) return null;
  deps.logger.info(
    { turn: turnId, job_id: noted.job?.id, project: noted.request.project.name, vote, votes: votesOf(noted) },
    "feedback",
  );
  return THANKS;
}
