import type { KnownJob, KnownTurn } from "../src/app/rules/known-job.ts";
import type { Outcome } from "../src/app/rules/turn/outcome.ts";
import type { Request } from "../src/app/rules/turn/request.ts";
import { keptTurn } from "../src/app/rules/turn/reported-turn.ts";
import type { KeptTurn } from "../src/app/rules/turn/reported-turn.ts";
import { newTurn } from "../src/app/rules/turn/turn.ts";
import type { Turn, TurnStage } from "../src/app/rules/turn/turn.ts";

/** The names of the people and places in the gallery, by id. */
export const NAMES: Readonly<Record<string, string>> = {
  U0ANA: "Ana Lima",
  U0BEN: "Ben Okoro",
  U0HELP: "Docs platform team",
  C0DOCS: "docs",
};
export const ANA = "U0ANA";
export const BEN = "U0BEN";
export const DOCS = "C0DOCS";
export const CONTACT = "<@U0HELP>";
export const NOON = Date.UTC(2026, 10, 23, 12);
const PR = "https://github.com/tidepool/docs/pull/7";

/** The longest text that anybody may write. It has everything that could be taken for markup. */
export const LONG =
  "Everything that anybody types or says: <!channel> *bold* <https://evil.example|x> & 😀 … "
    .repeat(120)
    .slice(0, 4000);
/** One word in which no line can be broken. */
export const UNBROKEN = "https://example.com/".padEnd(1900, "unbroken-");

export function makeUpRequest(request: Partial<Request> = {}): Request {
  return {
    id: "command:1",
    from: "command",
    teamId: "T0TIDEPOOL",
    channelId: DOCS,
    threadTs: null,
    userId: ANA,
    project: { service: "https://agents.example", id: "docs", name: "docs" },
    instructions: "The install command on the quickstart page is npm i tidepool.",
    quoted: null,
    responseUrl: null,
    receivedAt: NOON,
    ...request,
  };
}

export function makeUpTurn(stage: TurnStage, request: Partial<Request> = {}): Turn {
  return { ...newTurn(makeUpRequest(request)), stage };
}

export function makeUpJob(job: Partial<KnownJob> = {}): KnownJob {
  return {
    id: "job-4f1c",
    status: "completed",
    repository: "tidepool/docs",
    ref: "main",
    model: "model-1",
    prLink: PR,
    ...job,
  };
}

export function makeUpOutcome(outcome: Partial<Outcome>): Outcome {
  return { kind: "failed", reason: null, said: null, job: makeUpJob(), tookMs: 200_000, ...outcome };
}

/** A turn as a job service reports it. */
export function makeUpReport(turn: Partial<KnownTurn> = {}): KnownTurn {
  return {
    number: 1,
    status: "ended",
    outcome: "pull-request",
    reason: null,
    summary: "The quickstart and the FAQ named a package that was renamed.",
    step: null,
    plan: [],
    usage: null,
    pullRequest: {
      url: PR,
      number: 7,
      title: "Correct the install command",
      state: "open",
      files: 2,
      additions: 12,
      deletions: 4,
      headRef: "docs-agent/job-4f1c",
      headSha: "0123456789abcdef0123456789abcdef01234567",
    },
    branch: null,
    startedAt: null,
    endedAt: null,
    answer: null,
    checks: [],
    claims: null,
    context: [],
    notes: [],
    ...turn,
  };
}

/** The result of a turn, as a job service reports it. */
export function makeUpResult(turn: Partial<KnownTurn> = {}): KeptTurn {
  const report = keptTurn(makeUpReport(turn));
  if (report === undefined) throw new TypeError("A turn that has not ended tells nothing of its end.");
  return report;
}

/** The longest result that a job service may report. */
export function longest(turn: Partial<KnownTurn>): Partial<KnownTurn> {
  const { pullRequest } = makeUpReport();
  return {
    reason: LONG,
    summary: `${LONG}\n`.repeat(8),
    branch: LONG,
    checks: Array.from({ length: 20 }, () => ({
      name: LONG,
      result: "failed",
      findings: Array.from({ length: 20 }, () => LONG),
    })),
    claims: { total: 200, verified: 199 },
    notes: Array.from({ length: 20 }, () => LONG),
    ...turn,
    pullRequest: pullRequest && {
      ...pullRequest,
      url: UNBROKEN,
      title: LONG,
      pages: Array.from({ length: 20 }, () => ({
        path: LONG,
        status: "changed" as const,
        additions: 345_678,
        deletions: 98_765,
        words: LONG,
      })),
      files: 12_000,
      additions: 345_678,
      deletions: 98_765,
    },
  };
}
