import { MAX_PROMPT_BYTES } from "../../shared/contract/request.ts";
import type { EarlierTurn } from "../runner/runner.ts";
import { type TurnKey, TurnRow } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** If a job has more, its changes can't get into a public repository anymore. */
const MAX_EARLIER_TURNS = 1000;
/** Of all earlier turns together, because they are handed from process to process. */
const MAX_EARLIER_BYTES = 16 * 1024 ** 2;
/** As much as a prompt may have: words that it quotes from Slack could still be published. */
const MAX_EARLIER_CHARS = MAX_PROMPT_BYTES;

const EarlierTurnRow = TurnRow.pick({
  kind: true,
  prompt: true,
  words: true,
  authors: true,
  summary: true,
  outcome: true,
});

/** What the turns right before this one were asked and did, bounded, oldest first. */
export function earlierTurns(tables: Tables, { jobId, number }: TurnKey): EarlierTurn[] {
  const sql = `SELECT kind, substr(prompt, 1, ?1) AS prompt, substr(words, 1, ?1) AS words, authors,
      substr(summary, 1, ?1) AS summary, outcome
      FROM turns WHERE job_id = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4`;
  const values = [MAX_EARLIER_CHARS, jobId, number, MAX_EARLIER_TURNS];
  const turns: EarlierTurn[] = [];
  let bytes = 0;
  for (const turn of tables.each(EarlierTurnRow, sql, ...values)) {
    bytes += Buffer.byteLength(JSON.stringify(turn));
    if (bytes > MAX_EARLIER_BYTES) break;
    turns.push(turn);
  }
  return turns.toReversed();
}
