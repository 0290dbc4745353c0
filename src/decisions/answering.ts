import { isPosted, questionSlot } from "../core/turn/delivery.ts";
import type { MessageOf } from "../core/ports/notifier.ts";
import type { Read } from "../core/ports/records.ts";
import { newestOfThread } from "../core/turn/follow-up.ts";
import { answerInWords, answerQuestion, type Answering, type Given } from "../core/job/question.ts";
import { maySteer, notAllowed, type FollowUps } from "../core/turn/people.ts";
import type { Request } from "../core/turn/request.ts";
import type { Plan } from "../core/ports/task-queue.ts";
import { isAsking, questionOf, takesAnswers, withQuestion, type Turn } from "../core/turn/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { questionTasks, refreshTasks, answerTask } from "./new-tasks.ts";
import { turnWrites } from "./turn-writes.ts";

/** A person's answer to a question. */
export type GivenAnswer = {
  turnId: string;
  question: number;
  userId: string;
  given: Given;
  /** The message that holds the answer. Absent for a button or a form. */
  reply?: Request;
};

/** What happened to an answer. `gone` means that the turn is no longer kept. */
export type AnswerTaken =
  | { kind: Exclude<Answering["kind"], "answered"> | "gone" }
  | { kind: "answered"; userId: string }
  | MessageOf<"not-allowed">;

type TakeDeps = Pick<TaskDeps, "clock" | "polling" | "retentionMs"> & { followUps: FollowUps };

/**
 * Accepts an answer: stores it and adds the task that sends it. The first answer counts, and
 * repeating it changes nothing.
 */
export function answering(
  deps: TakeDeps,
  read: Read,
  { turnId, question: number, userId, given, reply }: GivenAnswer,
): Plan<AnswerTaken> {
  const turn = read("turn", turnId);
  const asked = turn === undefined ? undefined : questionOf(turn, number);
  if (turn === undefined || asked === undefined) return { value: { kind: "gone" } };
  if (!maySteer(deps.followUps, turn, userId)) return { value: notAllowed(turn) };
  const answered = answerQuestion(asked, userId, given, reply);
  if (answered.kind === "answered") return { value: answered };
  const kind = answered.kind === "taken" && !takesAnswers(turn, asked) ? "closed" : answered.kind;
  // Its message may not be up to date yet.
  if (answered.kind !== "taken" || kind === "closed") return { adds: questionTasks(turn), value: { kind } };
  const next = withQuestion(turn, number, answered.question);
  return {
    writes: turnWrites(deps, read, next),
    adds: [answerTask(next, number), ...questionTasks(next), ...refreshTasks(next)],
    value: { kind: "taken" },
  };
}

/**
 * Accepts a reply as the answer to the agent's question in its thread. `known` means that it was
 * accepted before. Undefined if it isn't an answer. Files can't go along with an answer.
 */
export function replyAnswering(
  deps: TakeDeps,
  read: Read,
  reply: Request,
): Plan<{ kind: "answered" | "known" }> | undefined {
  const { id, userId, instructions, files, isAdmitted } = reply;
  const turns = [...newestOfThread(read, reply)];
  const wasTaken = ({ questions = [] }: Turn) => questions.some(({ answer }) => answer?.saidIn === id);
  if (turns.some(wasTaken)) return { value: { kind: "known" } };
  if (isAdmitted !== true || (files ?? []).length > 0) return undefined;
  const turn = turns.find((other) => isAsking(other) && maySteer(deps.followUps, other, userId));
  // A question that isn't posted yet can't be answered.
  const question = turn?.questions?.find(
    (asked) => takesAnswers(turn, asked) && isPosted(turn.delivery, questionSlot(asked.number)),
  );
  if (turn === undefined || question === undefined) return undefined;
  const given = answerInWords(question, instructions);
  if (given === null) return undefined;
  const plan = answering(deps, read, {
    turnId: turn.id,
    question: question.number,
    userId,
    given,
    reply,
  });
  return { ...plan, value: { kind: "answered" } };
}
