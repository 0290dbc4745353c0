import { NOTHING_NEW, type ProjectCheck } from "../../shared/contract/checks.ts";
import type { Held, PlanStep, Usage } from "../../shared/contract/turn.ts";
import type { LeftPullRequest } from "../../shared/contract/pull-request.ts";
import { toTimestamp } from "../../shared/contract/reading.ts";
import { cut } from "../../shared/text/text.ts";
import type { KeptAttachment } from "../jobs/attachment-files.ts";
import { terminalText } from "../base/printable-text.ts";
import type { JobRow, QuestionRow, TurnRow } from "../jobs/rows.ts";
import { isAnswered } from "../jobs/sent-job.ts";
import type { AdminKey } from "../jobs/keys.ts";

const MAX_SHOWN_CHARS = 4_000;

/** The jobs as a table. */
export function jobTable(jobs: readonly JobRow[]): string {
  if (jobs.length === 0) return "There are no such jobs.\n";
  const rows = jobs.map((job) => [
    job.id,
    job.projectId,
    job.status,
    toTimestamp(job.createdAt),
    job.prLink === null ? "-" : lineText(job.prLink),
  ]);
  return shownTable([["JOB", "PROJECT", "STATUS", "CREATED", "PULL REQUEST"], ...rows]);
}

/** The keys as a table. It shows only their last characters. */
export function keyTable(keys: readonly AdminKey[]): string {
  if (keys.length === 0) return "There are no keys. Create one: keys create --project <id>\n";
  const rows = keys.map((key) => [
    key.id,
    key.projectId,
    `…${key.last4}`,
    toTimestamp(key.createdAt),
    key.revokedAt === null ? "-" : toTimestamp(key.revokedAt),
  ]);
  return shownTable([["KEY", "PROJECT", "ENDS IN", "CREATED", "REVOKED"], ...rows]);
}

type ShownTurn = TurnRow & { attachments: readonly KeptAttachment[] };

/** A job with all its turns, and its agent's questions. */
export function jobDetails(
  job: JobRow,
  turns: readonly ShownTurn[],
  questions: readonly QuestionRow[],
): string {
  const lines = [
    `job           ${job.id}`,
    `project       ${job.projectId}`,
    `status        ${job.status}`,
    `repository    ${lineText(job.repository)} (${lineText(job.ref)})`,
    `model         ${lineText(job.model)}`,
    `pull request  ${job.prLink === null ? "-" : lineText(job.prLink)}`,
    ...(job.pullRequest === null ? [] : [`stands        ${lineText(standingText(job.pullRequest))}`]),
    `created       ${toTimestamp(job.createdAt)}`,
    ...(job.archivedAt === null ? [] : [`archived      ${toTimestamp(job.archivedAt)}`]),
    ...turns.flatMap((turn) => [
      ...turnLines(turn),
      ...questions.filter((question) => question.turn === turn.number).flatMap(questionLines),
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

/** The state of the pull request, in one line. */
function standingText(pull: NonNullable<JobRow["pullRequest"]>): string {
  const { state, isDraft, review, checks, waitingFor, blockedBy, isVisible } = pull;
  const failed = checks.failed.length === 0 ? "" : ` (${checks.failed.join(", ")})`;
  const parts = [
    isDraft ? `${state}, a draft` : state,
    `review ${review}`,
    `checks ${checks.state}${failed}`,
    ...(waitingFor.length === 0 ? [] : [`waiting for ${waitingFor.join(", ")}`]),
    ...(blockedBy === null ? [] : [`blocked by ${blockedBy}`]),
    ...(isVisible ? [] : ["can't be seen anymore"]),
  ];
  return parts.join("; ");
}

function turnLines(turn: ShownTurn): string[] {
  const times = [
    `accepted ${toTimestamp(turn.acceptedAt)}`,
    ...(turn.startedAt === null ? [] : [`started ${toTimestamp(turn.startedAt)}`]),
    ...(turn.endedAt === null ? [] : [`ended ${toTimestamp(turn.endedAt)}`]),
  ];
  const attempts = turn.attempts > 1 ? `, attempt ${turn.attempts}` : "";
  const { checks, claims, context, notes } = turn.quality;
  return [
    "",
    `turn ${turn.number}: ` +
      `${turn.outcome === "cancelled" ? "canceled" : (turn.outcome ?? turn.state)}${attempts}`,
    `  ${times.join(", ")}`,
    ...block("prompt", turn.prompt),
    ...block("attached", turn.attachments.map(attachmentLine).join("\n")),
    ...block("waits", turn.state === "waiting" && turn.held !== null ? heldText(turn.held) : null),
    ...block("step", turn.state === "running" ? turn.step : null),
    ...block("plan", turn.plan.map(planLine).join("\n")),
    ...(turn.usage === null ? [] : block("used", usageText(turn.usage))),
    ...(turn.pullRequest === null ? [] : block("pull request", pullRequestText(turn.pullRequest))),
    ...block("branch", turn.branch),
    ...block(isAnswered(turn) ? "answer" : "summary", turn.summary),
    ...block("checks", checks.map(checkText).join("\n")),
    ...(claims === null || claims.total === 0
      ? []
      : block("sources", `${claims.verified} of ${claims.total} found`)),
    ...block("context", context.map(({ name, commit }) => `${name} at ${commit}`).join("\n")),
    ...block("notes", notes.join("\n")),
    ...block(turn.state === "ended" ? "reason" : "last attempt", turn.reason),
    ...block("left out", turn.leftOut.join("\n")),
    ...block("progress", turn.progress.join("\n"), Infinity),
  ];
}

function heldText({ reason, until }: Held): string {
  return `${reason} It starts after ${toTimestamp(until)}.`;
}

function checkText({ name, result, findings }: ProjectCheck): string {
  const said = result === "unchanged" ? NOTHING_NEW : result.replace("-", " ");
  return [`${name}: ${said}`, ...findings.map((line) => `  ${line}`)].join("\n");
}

function attachmentLine({ name, mediaType, bytes }: KeptAttachment): string {
  return `${lineText(name)} (${mediaType}, ${bytes} bytes)`;
}

function planLine({ text, status }: PlanStep): string {
  const mark = { pending: " ", "in-progress": ">", completed: "x" }[status];
  return `[${mark}] ${text}`;
}

function usageText({ inputTokens, outputTokens, cachedInputTokens, calls, costUsd }: Usage): string {
  const counts =
    calls === null
      ? "not counted"
      : `${calls} ${calls === 1 ? "call" : "calls"}, ${inputTokens ?? "?"} tokens in ` +
        `(${cachedInputTokens ?? "?"} cached), ${outputTokens ?? "?"} out`;
  return costUsd === null ? counts : `${counts}, $${costUsd.toFixed(4)}`;
}

function pullRequestText(pullRequest: LeftPullRequest): string {
  const { url, number, title, files, additions, deletions } = pullRequest;
  const state = pullRequest.isDraft === true ? `${pullRequest.state}, a draft` : pullRequest.state;
  const changed = files === null ? "" : `, ${files} ${files === 1 ? "file" : "files"}`;
  const lines = additions === null || deletions === null ? "" : `, +${additions} −${deletions}`;
  return `#${number} ${title} (${state}${changed}${lines})\n${url}`;
}

function questionLines({ id, text, choices, allowsText, answeredAt }: QuestionRow): string[] {
  const offered = choices.map((choice) => `${choice.id}: ${choice.label}`);
  const answers = allowsText ? [...offered, offered.length === 0 ? "in words" : "or in words"] : offered;
  return block(
    answeredAt === null ? `asks, question ${id}` : "asked, answered",
    [text, ...answers].join("\n"),
  );
}

/** Returns nothing if there is no text. */
function block(name: string, text: string | null, maxChars = MAX_SHOWN_CHARS): string[] {
  if (text === null || text === "") return [];
  return [
    `  ${name}:`,
    ...terminalText(cut(text, maxChars))
      .split("\n")
      .map((line) => `    ${line}`),
  ];
}

/** Rows in columns that are as wide as they need to be. */
export function shownTable(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

/** The whole text in one line. */
export function lineText(text: string): string {
  return terminalText(text).replaceAll(/\s+/g, " ");
}
