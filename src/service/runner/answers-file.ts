import { readInside } from "./workspace/confined-files.ts";

/** The temporary file in which an agent says what it did about each comment. */
export const ANSWERS_FILE = "answers.json";

const MAX_BYTES = 256 * 1024;

/** What the agent wrote to {@link ANSWERS_FILE} in this folder. Null if nothing, or too much. */
export function readAnswersFile(tmp: string): Promise<Buffer | null> {
  return readInside(tmp, ANSWERS_FILE, MAX_BYTES);
}
