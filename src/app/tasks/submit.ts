import { filesOfRequest, type LookedUp, readAlong } from "../gather/gather-files.ts";
import { namesOfRequest, requesterOf, withheldIn } from "../gather/gather-context.ts";
import { TurnPayload } from "../rules/decisions/payload.ts";
import { readTurnTask } from "../rules/decisions/turn-writes.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import type { Step } from "../rules/records.ts";
import { type Along, knownPrompt, refuseToAsk, withAlong } from "../rules/turn/submitting.ts";
import { deadlineOf, type Turn, type TurnFiles } from "../rules/turn/turn.ts";
import { type ComposedPrompt, composePrompt } from "../rules/words/prompt.ts";
import type { Attachment } from "../../shared/contract/attachment.ts";
import type { Authors, Requester } from "../../shared/contract/request.ts";
import type { Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import { endSubmit } from "./submit/end-submit.ts";
import { findReceiver, findTarget, holdUnlessAdmitted, type Target } from "./submit/find-target.ts";
import { noteSending, settle } from "./submit/note-turn.ts";
import { findOffer, type ServiceOffer, sendTurn } from "./submit/send-turn.ts";

/**
 * Creates the job or sends it a message, at most once per turn. That the call is being made is
 * stored first. A run that finds this without an answer repeats the call only if the service honors
 * idempotency keys; otherwise it ends the turn as `unknown`. The answer is stored before anyone is
 * told. A follow-up waits for its job and for the messages before it; if there is no job to wait
 * for, it becomes a create.
 */
export async function submit(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn: known } = await readTurnTask(deps, TurnPayload, given);
  const heldBack = await holdUnlessAdmitted(deps, task, known);
  if (heldBack !== null) return heldBack;
  const target = await findTarget(deps, known);
  if ("step" in target) return target.step;
  const read = await readOnce(deps, known, target, task.payload);
  if ("wait" in read) return read.wait;
  const turn = withAlong(known, read.along);
  const receiver = await findReceiver(deps, turn, target);
  if ("step" in receiver) return receiver.step;

  const composed = await composeOnce(deps, turn);
  const offer = await findOffer(deps, turn, receiver);
  if (offer.cannotAsk === true) return endSubmit(deps, turn.id, (now) => refuseToAsk(now, deps.clock.now()));
  const people = await peopleToName(deps, turn, offer, composed);
  const went = await filesToSend(deps, turn, { offer, read }, task.payload);
  if ("step" in went) return went.step;

  const noted = await noteSending(
    deps,
    known,
    { along: read.along, files: went.files },
    { ...people, prompt: composed.prompt, honorsKeys: receiver.honorsKeys },
  );
  if ("step" in noted) return noted.step;
  deps.assertHeld();
  const { job } = target;
  const call = { job, prompt: composed.prompt, attachments: went.attachments };
  const answer = offer.unsent ?? (await sendTurn(deps, noted.turn, receiver, call));
  return settle(deps, task, noted, { answer, receiver, job });
}

/** What goes along with a turn, and what Slack says of the files of which it gave only part. */
type ReadAlong = { along: Along; looked: LookedUp };

/**
 * Reads what goes along with a turn that is sent for the first time. A repeated create has the same
 * words, so nothing is read for it. `wait` means that Slack has to be asked again soon.
 */
async function readOnce(
  deps: TaskDeps,
  turn: Turn,
  { job }: Target,
  payload: TurnPayload,
): Promise<ReadAlong | { wait: TaskEnd }> {
  if (turn.stage.name !== "accepted") {
    return { along: { context: undefined, withheld: [] }, looked: new Map() };
  }
  const withheld = await withheldIn(deps, turn.request);
  return readAlong(deps, turn, { job, withheld }, payload);
}

/** Composes the prompt, unless it needs no composing or was sent before. */
async function composeOnce(deps: TaskDeps, turn: Turn): Promise<ComposedPrompt> {
  const kept = knownPrompt(turn);
  if (kept !== null) return { prompt: kept, quoted: [] };
  return composePrompt(turn.request, await namesOfRequest(deps, turn.request));
}

/** Who asked and whom the prompt quotes, for a service of level 1. */
async function peopleToName(
  deps: TaskDeps,
  turn: Turn,
  { level }: ServiceOffer,
  { quoted }: ComposedPrompt,
): Promise<{ requester: Requester | undefined; authors: Authors | undefined }> {
  const requester = level >= 1 ? await requesterOf(deps, turn) : undefined;
  const authors = level >= 1 ? { requester: turn.request.userId, quoted } : undefined;
  return { requester, authors };
}

/**
 * Downloads the files that go along, if anything is going to be sent. `step` ends the run because
 * Slack doesn't give them yet, or no longer gives one that was sent before.
 */
async function filesToSend(
  deps: TaskDeps,
  turn: Turn,
  { offer, read }: { offer: ServiceOffer; read: ReadAlong },
  payload: TurnPayload,
): Promise<{ files: TurnFiles | undefined; attachments: Attachment[] } | { step: Step }> {
  const isOver = deps.clock.now() >= deadlineOf(turn, deps.polling);
  if (isOver || offer.unsent !== undefined) return { files: undefined, attachments: [] };
  const went = await filesOfRequest(
    deps,
    turn,
    { takesFiles: offer.level >= 1, looked: read.looked },
    payload,
  );
  if (went === "gone") {
    const dueAt = deps.clock.now() + FILES_AGAIN_AFTER_MS;
    return { step: { kind: "retry", dueAt, reason: "a file that was sent can't be had again" } };
  }
  if (!("wait" in went)) return went;
  // What was read is kept, so that Slack is asked for the files alone.
  const step = endSubmit(deps, turn.id, (now) => withAlong(now, read.along), { value: went.wait });
  return { step };
}

/** Slack may be unavailable for a moment. */
const FILES_AGAIN_AFTER_MS = 30_000;
