import { z } from "zod";
import { hasStatusMessage, questionSlot } from "../core/delivery.ts";
import { isOpen, questionKey, type Question } from "../core/question.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import { questionOf, withQuestion, type Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { showPart } from "./post-for-turn.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { readTurnTask } from "./turn-writes.ts";

/** `question`: its number among those of the turn. */
export const QuestionPayload = TurnPayload.extend({ question: z.number().int() });
export type QuestionPayload = z.infer<typeof QuestionPayload>;

/** What is to be added whenever a turn's questions, or where they are asked, may have changed. One task for each message. */
export function questionTasks(turn: Turn): NewTask[] {
  // In a thread of its own, that is the root.
  if (!hasStatusMessage(turn.delivery)) return [];
  return (turn.questions ?? [])
    .filter((question) => isToBeShown(turn, question))
    .map(({ number }) => ({
      id: `question:${turn.id}:${number}`,
      type: "question",
      known: "latest",
      payload: { ...turnPayload(turn), question: number } satisfies QuestionPayload,
    }));
}

/** Whether a question's message is missing, or shows an earlier state. One that closes before it is posted isn't asked. */
function isToBeShown({ delivery }: Turn, question: Question): boolean {
  const isSent = delivery.slots[questionSlot(question.number)] !== undefined;
  return isSent ? question.shown !== questionKey(question) : isOpen(question);
}

/** Asks in the thread, once; later brings that message up to date. Safe to repeat: it shows what is true when it runs. */
export async function question(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, QuestionPayload, given);
  const { question: number } = task.payload;
  const asked = questionOf(turn, number);
  if (asked === undefined || !isToBeShown(turn, asked)) return { kind: "done" };
  const message = { kind: "question", turn, question: asked, away: null } as const;
  return showPart(
    deps,
    task,
    turn,
    { slot: questionSlot(number), message, key: questionKey(asked) },
    (now, shown) => {
      const current = questionOf(now, number);
      return current === undefined ? now : withQuestion(now, { ...current, shown });
    },
    (noted) => {
      const current = questionOf(noted, number);
      return current !== undefined && isToBeShown(noted, current);
    },
  );
}
