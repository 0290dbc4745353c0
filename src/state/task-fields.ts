import { z } from "zod";
import type { TaskEntry } from "./side.ts";

const Text = z
  .string()
  .nullable()
  .transform((text) => (text === "" ? null : text));
const Whole = z
  .string()
  .regex(/^-?\d+$/)
  .transform(Number);
/** The fields of a task in the order of the scripts. */
const TaskFields = z.object({
  state: z.enum(["live", "dead"]),
  type: z.string(),
  pool: z.string(),
  known: z.string(),
  payload: z.string(),
  dueAt: Whole,
  attempt: Whole,
  surprises: Whole,
  deaths: Whole,
  addedAt: Whole,
  endedAt: Whole.nullable(),
  reason: Text,
  nextPayload: Text,
  nextDueAt: Whole.nullable(),
});
const FIELDS = TaskFields.keyof().options;
const TasksAnswer = z.array(z.array(z.string().nullable()).nullable());

/** The tasks with these ids, in what `READ_TASKS` answered. `onDamaged` is called for one that isn't complete. */
export function tasksOf(
  ids: readonly string[],
  answer: unknown,
  onDamaged: (id: string) => never,
): TaskEntry[] {
  const tasks = TasksAnswer.parse(answer);
  return ids.flatMap((id, n) => {
    const values = tasks[n];
    if (values === undefined || values === null) return [];
    const fields = TaskFields.safeParse(Object.fromEntries(FIELDS.map((name, m) => [name, values[m]])));
    return fields.success ? [{ kind: "task", id, ...fields.data }] : onDamaged(id);
  });
}

/** A task as `PUT_TASKS` takes it. */
export function scriptFieldsOf(task: TaskEntry): string[] {
  return [task.id, ...FIELDS.map((name) => String(task[name] ?? ""))];
}
