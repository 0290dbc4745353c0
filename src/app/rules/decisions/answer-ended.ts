import { isUnheard, type AnswerResult, type PersonAnswer } from "../thread/question.ts";
import { type Decision, type Read, keyOfWrite, readAfter } from "../records.ts";
import type { TaskEnd } from "../../../shared/queue/task-queue.ts";
import { isJobClosed } from "../thread/follow-up.ts";
import { newTurn, questionOf, withQuestion, type Turn } from "../turn/turn.ts";
import { accepting } from "./accept.ts";
import type { TaskDeps } from "../ports/deps.ts";
import { questionTasks, unheardTask, watchTask } from "./new-tasks.ts";
import { turnNow, turnWrites } from "./turn-writes.ts";

type Deps = Pick<TaskDeps, "clock" | "polling" | "retentionMs">;

/**
 * Notes how sending an answer ended. Words that the agent certainly didn't get aren't lost: a reply
 * becomes the follow-up that it would have been. Whoever answered in another way, or after whose
 * reply somebody pressed **Stop**, is told privately; so are those whose answer may not have
 * arrived.
 */
export function answerEnded(
  deps: Deps,
  { turnId, question: number }: { turnId: string; question: number },
  result: AnswerResult,
): Decision<TaskEnd> {
  return (read) => {
    const turn = turnNow(read, turnId);
    const known = questionOf(turn, number)?.answer;
    if (known === undefined || known.result !== undefined) return { value: { kind: "done" } };
    const now = deps.clock.now();
    const followUp = isUnheard(result) ? followUpOf(read, turn, known, now) : undefined;
    const answer = { ...known, result, ...(followUp !== undefined && { isFollowUp: true }) };
    const next = withQuestion(turn, number, { answer });
    const writes = turnWrites(deps, read, next);
    const written = new Map(writes.map((write) => [keyOfWrite(write), write]));
    const accepted = followUp && accepting(deps, readAfter(read, written), followUp);
    for (const write of accepted?.writes ?? []) written.set(keyOfWrite(write), write);
    const isUntold = result !== "taken" && followUp === undefined;
    return {
      writes: [...written.values()],
      appends: accepted?.appends ?? [],
      adds: [
        ...questionTasks(next),
        ...(next.stage.name === "watching" ? [watchTask(next, now + deps.polling.minMs)] : []),
        ...(isUntold ? [unheardTask(next, number)] : []),
        ...(accepted?.adds ?? []),
      ],
      value: { kind: "done" },
    };
  };
}

/** The follow-up that an answer would have been. Undefined if it isn't one. */
function followUpOf(read: Read, turn: Turn, { reply }: PersonAnswer, now: number): Turn | undefined {
  if (reply === undefined || turn.stop !== undefined || isJobClosed(turn)) return undefined;
  if (read("turn", reply.id) !== undefined) return undefined;
  const { project } = turn.request;
  return newTurn({ ...reply, project, follows: { turnId: turn.id }, receivedAt: now });
}
