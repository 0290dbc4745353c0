import { cut } from "../../../shared/text/text.ts";
import type { Redact } from "../../base/redaction.ts";
import { JOB_TRAILER, TURN_TRAILER, turnKeyOf } from "./earlier-push.ts";
import { BREAK, inertWords } from "./inert-text.ts";
import type { TurnText } from "./pull-request-text.ts";
import { belowTitle, formattedTitle, titleOf } from "./title.ts";
import { wrappedText } from "./wrapped-text.ts";

/** Git reads no trailers of a message that holds this line (`wt-status.c`: `cut_line`). */
const SCISSORS = /(?<=-{24} )>(?=8 -{24})/g;

type CommitText = Pick<TurnText, "jobId" | "number" | "prompt" | "words" | "summary"> & {
  titleTemplate: string;
  /** Who signs the commit off, as `name <email>`, or null. */
  signedOffBy: string | null;
};

/**
 * The commit's message. Its last lines name the job and the turn, so that a turn that was pushed
 * before a crash is recognized and not done twice.
 */
export function commitMessageOf(turn: CommitText, redact: Redact): string {
  const subject = formattedTitle(turn.titleTemplate, titleOf(turn, redact));
  const below = wrappedText(inertWords(cut(belowTitle(turn.summary, redact), 2000)));
  const summary = below === "" ? "" : `${below}\n\n`;
  // Linters look for a sign-off in the last line.
  const signOff = turn.signedOffBy === null ? "" : `Signed-off-by: ${turn.signedOffBy}\n`;
  const trailers = `${JOB_TRAILER}: ${turn.jobId}\n${TURN_TRAILER}: ${turnKeyOf(turn)}\n${signOff}`;
  return `${subject}\n\n${summary}`.replace(SCISSORS, `>${BREAK}`) + trailers;
}
