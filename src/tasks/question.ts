import { z } from "zod";
import { hasStatusMessage, questionSlot } from "../core/delivery.ts";
import type { Delivery } from "../core/delivery.ts";
import { isOpen, questionKey } from "../core/question.ts";
import type { Question } from "../core/question.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import { questionOf, withQuestion } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { mutedIn, awayOfPost, postOrUpdate } from "./post-for-turn.ts";
import { TurnPayload, readPayload, turnPayload } from "./payload.ts";
import { requireTurn, turnWrites } from "./turn-writes.ts";

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
export async function question(deps: TaskDeps, task: Task): Promise<Step> {
  const payload = readPayload(QuestionPayload, task);
  const { turnId, question: number } = payload;
  const turn = requireTurn(await deps.records.turn.get(turnId), turnId);
  const asked = questionOf(turn, number);
  if (asked === undefined || !isToBeShown(turn, asked)) return { kind: "done" };
  const slot = questionSlot(number);
  const attempt = await postOrUpdate(deps, { ...task, payload }, turn, slot, {
    kind: "question",
    turn,
    question: asked,
    away: awayOfPost(turn, slot),
    muted: await mutedIn(deps, turn),
  });
  if (attempt.kind !== "posted") return attempt.step;
  const isNew = (turn.delivery.slots[slot]?.ts ?? null) === null;
  if (isNew) deps.logger.info({ question: number }, "a question is asked");
  // A post that an earlier attempt left shows what was true then.
  return shown(deps, payload, attempt.isFound ? "" : questionKey(asked), attempt.change);
}

/** Notes what the message shows; once more if that has changed meanwhile. */
function shown(
  deps: TaskDeps,
  known: QuestionPayload,
  key: string,
  change: (delivery: Delivery) => Delivery,
): Step {
  const { slotMs: _, lookMs: __, ...payload } = known;
  return (read) => {
    const now = requireTurn(read("turn", payload.turnId), payload.turnId);
    const asked = questionOf(now, payload.question);
    const turn = { ...now, delivery: change(now.delivery) };
    const noted = asked === undefined ? turn : withQuestion(turn, { ...asked, shown: key });
    const isTrue = asked === undefined || questionKey(asked) === key;
    return {
      writes: turnWrites(deps, read, noted),
      value: isTrue ? { kind: "done" } : { kind: "again", dueAt: deps.clock.now(), payload },
    };
  };
}
