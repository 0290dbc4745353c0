import { z } from "zod";
import type { KnownTurn } from "../known-job.ts";
import { type ProjectCheck, countFindings } from "../../../shared/contract/checks.ts";
import { Claims, PlanStep } from "../../../shared/contract/turn.ts";
import { type JobServiceAnswer, speaks } from "../ports/job-service.ts";
import { LeftPullRequest, MAX_URL_CHARS, PullRequestPage } from "../../../shared/contract/pull-request.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { cut, excerpt, lineOfWords, passage, plainLine } from "../../../shared/text/text.ts";

/** How much of each text is kept, in UTF-16 units. A message shows no more. */
const WORDS_MAX = 400;
const WORDS_MAX_LINES = 8;
const ANSWER_MAX = 2500;
const ANSWER_MAX_LINES = 80;
const LINE_MAX = 150;
const NAME_MAX = 40;
const MAX_CHECKS = 20;
const MAX_NOTES = 5;
const MAX_PAGES = 5;
const PAGE_WORDS_MAX = 100;
/** A service that names a later time than the end of the month is mistaken. */
const HELD_MAX_MS = 32 * 24 * 60 * 60_000;
/** A plan of one step says no more than the step itself. */
const PLAN_MIN_STEPS = 2;
const PLAN_MAX_STEPS = 8;
const PLAN_LINE_MAX = 100;

/** A changed page. Its status may be any text, because an older version may read a newer one's. */
const KeptPage = storedObject(PullRequestPage.extend({ status: z.string() }).shape);
export type KeptPage = z.infer<typeof KeptPage>;

/**
 * What is kept of a pull request as its turn left it. `title` is null if nothing of it shows, and
 * what is false is absent.
 */
const KeptPullRequest = storedObject(
  LeftPullRequest.omit({ number: true, state: true, headRef: true, headSha: true }).extend({
    title: LeftPullRequest.shape.title.nullable(),
    pages: z.array(KeptPage).optional(),
  }).shape,
);
export type KeptPullRequest = z.infer<typeof KeptPullRequest>;

/** What is kept of one check of the change: its findings are only counted. */
const KeptCheck = storedObject({
  name: z.string(),
  /**
   * One of {@link KnownTurn}'s. Accepts any text, because an older version may read a newer
   * one's.
   */
  result: z.string(),
  /** The number of findings, and the first of them or null. */
  findings: z.number(),
  first: z.string().nullable(),
});

/**
 * What is kept of the report on a change's quality (untrusted, bounded). Fields are absent if the
 * service didn't say.
 */
export const KeptQuality = {
  checks: z.array(KeptCheck).optional(),
  claims: storedObject(Claims.shape).optional(),
  /** What else people should know, a sentence each. */
  notes: z.array(z.string()).optional(),
};
export type KeptQuality = z.infer<z.ZodObject<typeof KeptQuality>>;

/**
 * What is kept of the service's report on how a turn ended (untrusted). It isn't a
 * {@link KnownTurn}, because it is stored: texts are cut to what a message shows, and where a newer
 * version may know more values, any text is read. Fields are null if the service didn't say.
 */
export const KeptTurn = storedObject({
  /**
   * One of {@link KnownTurn}'s. Accepts any text, because an older version may read a newer
   * one's.
   */
  outcome: z.string(),
  reason: z.string().nullable(),
  /** One of {@link KnownTurn}'s. Accepts any text, as above. */
  cause: z.string().optional(),
  /** The agent's last words, without the line that is the pull request's title. */
  summary: z.string().nullable(),
  /** The branch that the agent's changes are on. */
  branch: z.string().nullable(),
  pullRequest: KeptPullRequest.nullable(),
  /** The agent's answer if it changed nothing. */
  answer: z.string().optional(),
  ...KeptQuality,
});
export type KeptTurn = z.infer<typeof KeptTurn>;

/** One step of the agent's plan. An unknown status is read as `pending`. */
const PlannedStep = storedObject({ ...PlanStep.shape, status: PlanStep.shape.status.catch("pending") });

/** How far a running turn is. */
export const TurnProgress = storedObject({
  /** True while it waits in line at the job service and the agent hasn't begun. */
  isWaiting: z.boolean(),
  /** What it waits for beside its place in line (untrusted, bounded), and until when. */
  held: storedObject({ reason: z.string(), until: z.number() }).optional(),
  /** The agent's latest step: untrusted, one bounded line. */
  step: z.string().nullable(),
  /** The steps of the agent's plan (untrusted, bounded). Absent if it gave none. */
  plan: z.array(PlannedStep).optional(),
});
export type TurnProgress = z.infer<typeof TurnProgress>;

/**
 * The turns that an answer reports, oldest first. Null if the service speaks only the contract.
 */
export function reportedTurns(answer: JobServiceAnswer): KnownTurn[] | null {
  if (!answer.ok || !speaks(answer, 1)) return null;
  return answer.report?.turns ?? null;
}

/**
 * The report on the job's turn of that number (1 is the create). Null if there is none or the
 * number is unknown.
 */
export function ownTurn(answer: JobServiceAnswer, number: number | null): KnownTurn | null {
  return reportedTurns(answer)?.find((turn) => turn.number === number) ?? null;
}

/**
 * True if an answer is older than the turn of that number: it reports turns, but only earlier ones.
 */
export function isBefore(answer: JobServiceAnswer, number: number | null): boolean {
  const last = reportedTurns(answer)?.at(-1);
  return last !== undefined && number !== null && last.number < number;
}

/** True if an answer reports a turn that is later than the one of that number. */
export function isFollowedBy(answer: JobServiceAnswer, number: number | null): boolean {
  const last = reportedTurns(answer)?.at(-1);
  return last !== undefined && number !== null && last.number > number;
}

/** What is kept of the report on an ended turn. Undefined if the turn hasn't ended. */
export function keptTurn(reported: KnownTurn | null): KeptTurn | undefined {
  if (reported?.status !== "ended" || reported.outcome === null) return undefined;
  const { outcome, reason, cause, branch, pullRequest } = reported;
  const title = pullRequest === null ? null : lineOrNull(pullRequest.title);
  const answer = outcome === "no-changes" ? passage(reported.answer ?? "", ANSWER_MAX, ANSWER_MAX_LINES) : "";
  return {
    outcome,
    reason: wordsOrNull(reason),
    cause,
    summary: wordsOrNull(withoutPages(withoutTitle(reported.summary, title), pullRequest?.pages ?? [])),
    branch: lineOrNull(branch ?? pullRequest?.headRef ?? null),
    pullRequest: pullRequest === null ? null : keptPullRequest(pullRequest, title),
    answer: answer || undefined,
    ...keptQuality(reported),
  };
}

/**
 * The progress to show of a running turn. Undefined if none is reported. With `isAsking` the step
 * is left out, because it is only the question, which is shown itself.
 */
export function progressOf(
  reported: KnownTurn | null,
  now: number,
  isAsking = false,
): TurnProgress | undefined {
  if (reported === null || reported.status === "ended") return undefined;
  if (reported.status === "waiting") {
    const { reason = "", until = 0 } = reported.held ?? {};
    const line = plainLine(reason, LINE_MAX);
    const isHeld = line !== "" && until > now && until <= now + HELD_MAX_MS;
    return { isWaiting: true, step: null, ...(isHeld && { held: { reason: line, until } }) };
  }
  const plan = shownPlan(reported.plan);
  return {
    isWaiting: false,
    step: isAsking ? null : lineOrNull(reported.step),
    ...(plan.length < PLAN_MIN_STEPS ? {} : { plan }),
  };
}

/** The steps from the current one on matter most. The last completed one comes before them. */
function shownPlan(steps: readonly PlanStep[]): PlanStep[] {
  const all = steps.flatMap(({ text, status }) => {
    const line = plainLine(text, PLAN_LINE_MAX);
    return line === "" ? [] : [{ text: line, status }];
  });
  const current = all.findIndex(({ status }) => status !== "completed");
  const from = Math.max(0, Math.min(current === -1 ? all.length : current - 1, all.length - PLAN_MAX_STEPS));
  return all.slice(from, from + PLAN_MAX_STEPS);
}

function keptPullRequest(
  { number: _number, state: _state, headRef: _ref, headSha: _sha, ...pullRequest }: LeftPullRequest,
  title: string | null,
): KeptPullRequest {
  const { url, isDraft, isEmpty, pages = [] } = pullRequest;
  const flags = { isDraft: isDraft || undefined, isEmpty: isEmpty || undefined };
  const kept = pages.slice(0, MAX_PAGES).map((page) => ({
    ...page,
    path: plainLine(page.path, LINE_MAX),
    // Nothing there is shown as code.
    words: page.words === null ? null : lineOfWords(page.words.replaceAll("`", ""), PAGE_WORDS_MAX) || null,
  }));
  return {
    ...pullRequest,
    url: cut(url, MAX_URL_CHARS),
    title,
    ...flags,
    pages: kept.length === 0 ? undefined : kept,
  };
}

const LIST_MARK = /^\s{0,9}(?:[-*+•]|\d{1,3}[.)])\s/;

/** As many first words of a line tell it from what another line says of the same page. */
const COMPARED_WORDS = 8;

/**
 * The agent's words without the lines that a page is shown with, and without a line that introduced
 * only those. What a page isn't shown with stays, such as what was left alone.
 */
function withoutPages(summary: string | null, pages: readonly PullRequestPage[]): string | null {
  const shown = pages.flatMap(({ path, words }) =>
    words === null ? [] : [{ name: path.split("/").at(-1) ?? path, words: new Set(wordsIn(words)) }],
  );
  if (summary === null || shown.length === 0) return summary;
  const isShown = (line: string) =>
    LIST_MARK.test(line) &&
    shown.some(({ name, words }) => {
      if (!line.includes(name)) return false;
      const said = wordsIn(line.slice(line.indexOf(name) + name.length)).slice(0, COMPARED_WORDS);
      return said.filter((word) => words.has(word)).length * 2 > said.length;
    });
  const lines = summary.split("\n");
  const introducesThose = (at: number) => {
    const next = lines.findIndex((line, n) => n > at && line.trim() !== "" && !isShown(line));
    const between = lines.slice(at + 1, next === -1 ? undefined : next);
    return between.some(isShown) && (next === -1 || !LIST_MARK.test(lines[next] ?? ""));
  };
  const isLeftOut = (line: string, at: number) =>
    isShown(line) || (line.trimEnd().endsWith(":") && introducesThose(at));
  return lines.filter((line, at) => !isLeftOut(line, at)).join("\n");
}

function wordsIn(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Services use the first line of the agent's words as title. Nobody needs to read it twice. */
function withoutTitle(summary: string | null, title: string | null): string | null {
  if (summary === null || title === null) return summary;
  const [first = "", ...others] = summary.trim().split("\n");
  // A title is short. The expression would take minutes on a line of a megabyte.
  const start = first.slice(0, 1000);
  const said = plainLine(start.replace(/^[\s#>*\-=_`]+|[\s*_`]+$/g, ""), LINE_MAX);
  return said === title ? others.join("\n") : summary;
}

function wordsOrNull(text: string | null): string | null {
  return text === null ? null : excerpt(text, WORDS_MAX, WORDS_MAX_LINES) || null;
}

function lineOrNull(text: string | null): string | null {
  return text === null ? null : plainLine(text, LINE_MAX) || null;
}

/** The kept part of the report on a change's quality. */
function keptQuality({ checks, claims, notes }: KnownTurn): KeptQuality {
  const sentences = notes.map((note) => plainLine(note, LINE_MAX)).filter((note) => note !== "");
  return {
    ...(checks.length === 0 ? {} : { checks: checks.slice(0, MAX_CHECKS).map(keptCheck) }),
    ...(claims === null ? {} : { claims }),
    ...(sentences.length === 0 ? {} : { notes: sentences.slice(0, MAX_NOTES) }),
  };
}

function keptCheck({ name, result, findings }: ProjectCheck): z.infer<typeof KeptCheck> {
  const first = plainLine(findings[0] ?? "", LINE_MAX) || null;
  return { name: plainLine(name, NAME_MAX), result, findings: countFindings(findings), first };
}
