import { endOf, printableText } from "../../base/printable-text.ts";
import { createTail } from "../workspace/process-group.ts";
import { type AgentResult, type AgentRun, MAX_SUMMARY_LENGTH, ProgressLines } from "./agent.ts";
import { failureOf, startAgent } from "./agent-process.ts";
import {
  attachmentsText,
  earlierTurnsText,
  findingsText,
  materialText,
  othersChangesText,
  questionText,
} from "./brief.ts";

/** How much of standard output is kept for the summary, in bytes. A character has up to four. */
const MAX_TAIL_BYTES = MAX_SUMMARY_LENGTH * 4;

/**
 * Runs any program. Its standard input is the brief, the earlier turns of a follow-up, a list of
 * attachments, and the prompt. Its result is what it changed, and the end of its standard output is
 * the summary.
 */
export async function runCommandAgent(run: AgentRun): Promise<AgentResult> {
  const progress = new ProgressLines(run);
  const decoder = new TextDecoder();
  const tail = createTail(MAX_TAIL_BYTES);
  const { group, lastWords } = await startAgent(run, (chunk) => {
    tail.add(chunk);
    progress.write(decoder.decode(chunk, { stream: true }));
  });
  const again = findingsText(run.findings);
  const texts = [
    run.brief.whole,
    earlierTurnsText(run.earlierTurns, run.number),
    attachmentsText(run.attachments),
    materialText(run),
    othersChangesText(run),
    questionText(run),
    `Now:\n${run.prompt}`,
    again,
  ];
  const told = texts.filter((text) => text !== "").join("\n\n");
  run.onBrief(told);
  group.stdin.end(told);
  const ending = await group.ended;
  progress.flush();
  run.signal.throwIfAborted();
  const failure = failureOf(ending, run.settings, lastWords());
  if (failure) throw failure;
  const summary = endOf(printableText(run.redact(tail.text())).trim(), MAX_SUMMARY_LENGTH);
  return { summary: summary === "" ? null : summary, refused: [], session: null };
}
