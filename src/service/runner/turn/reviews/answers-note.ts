import { z } from "zod";
import { json } from "../../../base/json.ts";
import { type JobNotes, RunTurnResult } from "../../runner.ts";
import type { Success } from "../../turn-context.ts";

/** Keeps the answers that a turn is about to give, so that another attempt gives the same once. */
const AnswersNote = z.object({
  version: z.literal(1),
  /** Identifies the turn. */
  turnKey: z.string(),
  /** The pull request's number. */
  pull: z.int(),
  /** The commit that was about to be pushed. Null if nothing was changed. */
  commit: z.string().nullable(),
  replies: z.array(
    z.object({
      comment: z.int(),
      isSaid: z.boolean().default(true),
      isChanged: z.boolean(),
      words: z.string().nullable(),
      /** The page and line that the comment is about. Absent in notes of earlier versions. */
      place: z.string().optional(),
    }),
  ),
  /** Whom to ask for a review once more, and the review in which they asked for changes. */
  askAgain: z.array(z.object({ login: z.string(), review: z.int() })),
  /** Other things that people should know, one sentence each. */
  notes: z.array(z.string()),
  /** The turn's result, if nothing was changed. */
  result: RunTurnResult.nullable(),
});
export type AnswersNote = z.infer<typeof AnswersNote>;

/** Written before the push, or before the first reply. */
export async function writeAnswersNote(notes: JobNotes, note: AnswersNote): Promise<void> {
  await notes.write("answers", JSON.stringify(note));
}

/** The turn's note, or null if it has none that can be read. */
export async function readAnswersNote(notes: JobNotes, turnKey: string): Promise<AnswersNote | null> {
  const note = json(AnswersNote).safeParse(await notes.read("answers")).data ?? null;
  return note?.turnKey === turnKey ? note : null;
}

/** The result that was noted, unless it was a failure, which is never noted. */
export function notedSuccess({ result }: AnswersNote): Success | null {
  return result === null || result.kind === "failed" ? null : result;
}
