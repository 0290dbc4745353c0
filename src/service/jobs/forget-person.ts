import type { DatabaseSync } from "node:sqlite";
import { removeSessionOf } from "../runner/workspace/folders.ts";
import { JobStore } from "./job-store.ts";
import { NoteFiles } from "./note-files.ts";
import type { FoundPerson } from "./people-store.ts";

/**
 * Removes a person's words, names and files. Resolves to what there was of them, or to "busy" and
 * does nothing while a turn of their jobs waits or runs. Whatever ends it on its way, a repetition
 * does the rest: jobs are closed first, so that nothing begins in them. Their files go before the
 * rows, which say whose they are.
 */
export async function forgetPerson(
  user: string,
  { db, dataDir, nowMs }: { db: DatabaseSync; dataDir: string; nowMs: number },
): Promise<FoundPerson | "busy"> {
  const { people } = new JobStore(db);
  const found = people.find(user);
  if (!people.close(user, nowMs)) return "busy";
  const notes = new NoteFiles(dataDir);
  for (const jobId of found.jobIds) {
    await notes.remove(jobId);
    await removeSessionOf(dataDir, jobId);
  }
  people.forget(user, found.jobIds);
  return found;
}
