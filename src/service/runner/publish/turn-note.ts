import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** What a turn's commit does not tell, kept until its pull request is there. */
const TurnNote = z.object({
  version: z.literal(1),
  commit: z.string(),
  summary: z.string().nullable(),
  leftOut: z.array(z.string()),
});
export type TurnNote = z.infer<typeof TurnNote>;

/** Written before the push; a crash leaves the old note or the new one. */
export async function writeTurnNote(notesDir: string, jobId: string, note: TurnNote): Promise<void> {
  await mkdir(notesDir, { recursive: true, mode: 0o700 });
  const file = join(notesDir, `${jobId}.json`);
  await writeFile(`${file}.new`, JSON.stringify(note), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** The note of this very commit; null if there is none that can be read. */
export async function readTurnNote(
  notesDir: string,
  jobId: string,
  commit: string,
): Promise<TurnNote | null> {
  const text = await readFile(join(notesDir, `${jobId}.json`), "utf8").catch(() => "null");
  try {
    const note = TurnNote.safeParse(JSON.parse(text));
    return note.success && note.data.commit === commit ? note.data : null;
  } catch {
    return null;
  }
}

export async function removeTurnNote(notesDir: string, jobId: string): Promise<void> {
  await rm(join(notesDir, `${jobId}.json`), { force: true });
}
