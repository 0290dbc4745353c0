import { isFromServiceThatIsUp, type DiffAnswer } from "../rules/ports/job-service.ts";
import { within } from "../../shared/machine/ports.ts";
import type { MessageOf } from "../rules/ports/notifier.ts";
import type { Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import { diffFileName, isLongDiff, visibleDiff } from "../rules/words/change-text.ts";
import { turnPrLink } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { DiffPayload } from "../rules/decisions/new-tasks.ts";
import { readTask } from "../rules/decisions/payload.ts";
import { answerPrivately } from "./reply.ts";

/** The time after which a person is told that their changes are being read. */
const SOON_MS = 2_500;
/** How long a service that is busy is asked again. */
const PATIENCE_MS = 30_000;
const NO_JOB: DiffAnswer = { ok: false, fault: { kind: "missing", message: "no job" } };

/**
 * Shows a person privately what a job changes, and sends them the raw change as a file. If it runs
 * twice, they may see it twice.
 */
export async function diff(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(DiffPayload, given);
  const { payload } = task;
  const { teamId, channelId, threadTs, userId, responseUrl, turnId } = payload;
  const turn = await deps.records.get("turn", turnId);
  if (turn === undefined) return { kind: "done" };
  const to = { place: { teamId, channelId, threadTs }, userId, responseUrl };
  let { rest } = payload;
  // The file isn't sent again: a retry has this payload.
  const show = (of: MessageOf<"changes">["of"]): Promise<TaskEnd> => {
    const known = { ...payload, isTold: true, ...(rest === undefined ? {} : { rest }) };
    return answerPrivately(deps, { ...task, payload: known }, to, { kind: "changes", turn, of });
  };
  const service = deps.jobServices.of(turn.request.project)?.jobService;
  const reading = service && turn.job ? service.readDiff(turn.job.id) : Promise.resolve(NO_JOB);
  const early = payload.isTold === true ? undefined : await within(deps.clock, SOON_MS, reading, null);
  if (early === null || (early !== undefined && !isFromServiceThatIsUp(early))) {
    // Best effort: what counts is still to come.
    await deps.notifier.replyPrivately(to, { kind: "changes", turn, of: { kind: "reading" } });
  }
  const answer = await reading;
  if (!answer.ok) {
    const { kind, retryAfterMs = 1000 } = answer.fault;
    const dueAt = deps.clock.now() + retryAfterMs;
    // Only a service that is away or busy may say something else later.
    if (!isFromServiceThatIsUp(answer) && dueAt < task.addedAt + PATIENCE_MS) {
      return { kind: "retry", dueAt, reason: answer.fault.message, payload: { ...payload, isTold: true } };
    }
    if (kind !== "missing") deps.logger.warn({ error: answer.fault.message }, "a change can't be read");
    return show({ kind: kind === "missing" ? "gone" : "unreadable" });
  }
  if (rest === undefined && answer.diff.diff !== "") {
    const file = { name: diffFileName(turnPrLink(turn)), content: visibleDiff(answer.diff.diff) };
    const sent = await deps.notifier.sendFile(userId, file, { kind: "raw-change", turn });
    if (!sent.ok) deps.logger.warn({ error: sent.fault.error }, "a change can't be sent as a file");
    rest = sent.ok ? "file" : isLongDiff(answer.diff) ? "page" : undefined;
  }
  return show({ kind: "read", diff: answer.diff, rest: rest ?? null });
}
