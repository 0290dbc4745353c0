import { type AccessSettings, asItsChannelAllows } from "../access.ts";
import { questionSlot } from "../turn/delivery.ts";
import type { MessageOf } from "../ports/notifier.ts";
import type { AskedQuestion, Plan, Read } from "../records.ts";
import { answerInWords, answerQuestion, type Answering, type Given } from "../thread/question.ts";
import { newestOfThread } from "../thread/follow-up.ts";
import { maySteer, notAllowed, type FollowUps } from "../thread/people.ts";
import type { Request } from "../turn/request.ts";
import { compareTs } from "../thread/messages-to-share.ts";
import { isAsking, questionOf, takesAnswers, withQuestion, type Turn } from "../turn/turn.ts";
import type { TaskDeps } from "../ports/deps.ts";
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
 * True if this message was taken as an answer: to the question that its author was asked about, or
 * to one in its thread. Another event of the same message may have said less of it.
 */
export function isAnswer(read: Read, request: Request): boolean {
  const asked = read("reply", request.id)?.answers;
  if (asked !== undefined && wasTaken(read("turn", asked.turnId), request.id)) return true;
  return newestOfThread(read, request).some((turn) => wasTaken(turn, request.id));
}

/** True if one of the turn's questions was answered by this message. */
export function wasTaken(turn: Turn | undefined, messageId: string): boolean {
  return (turn?.questions ?? []).some(({ answer }) => answer?.saidIn === messageId);
}

/**
 * The question of these turns that a message may answer. Undefined if there is none: a question
 * can't be answered by what was written before it was posted, and files can't go along.
 */
export function answerableIn(
  { followUps }: Pick<TakeDeps, "followUps">,
  turns: Iterable<Turn>,
  { userId, messageTs = "", files = [], beside }: Request,
): AskedQuestion[] {
  if (files.length > 0 || beside !== undefined) return [];
  return [...turns].flatMap((turn) => {
    if (!isAsking(turn) || !maySteer(followUps, turn, userId)) return [];
    const found = (turn.questions ?? []).find((question) => {
      const ts = turn.delivery.slots[questionSlot(question.number)]?.ts ?? null;
      return takesAnswers(turn, question) && ts !== null && compareTs(ts, messageTs) < 0;
    });
    return found === undefined ? [] : [{ turnId: turn.id, question: found.number }];
  });
}

/**
 * Accepts a message as the answer to a question. `closed` means that it can't be: the question may
 * have closed meanwhile. `known` means that the message was taken before.
 */
export function replyAnswering(
  deps: TakeDeps & { access: Pick<AccessSettings, "askOnly"> },
  read: Read,
  reply: Request,
  { turnId, question: number }: AskedQuestion,
): Plan<"answered" | "known" | "closed"> {
  const turn = read("turn", turnId);
  if (read("turn", reply.id) !== undefined || wasTaken(turn, reply.id)) return { value: "known" };
  const question = turn === undefined ? undefined : questionOf(turn, number);
  const given = question === undefined ? null : answerInWords(question, reply.instructions);
  if (turn === undefined || given === null) return { value: "closed" };
  // If the answer comes too late, the follow-up that it becomes belongs into the job's thread.
  const { channelId, threadTs } = turn.delivery;
  const place = channelId === reply.channelId && threadTs !== null ? { threadTs } : {};
  const plan = answering(deps, read, {
    turnId,
    question: number,
    userId: reply.userId,
    given,
    reply: { ...asItsChannelAllows(deps.access, reply), ...place },
  });
  return plan.value.kind === "taken" ? { ...plan, value: "answered" } : { value: "closed" };
}
