import type { ContractJob, FullJob } from "../../src/shared/contract/job.ts";
import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { JobQuestion } from "../../src/shared/contract/question.ts";
import type { TurnAct, JobTurn } from "../../src/shared/contract/turn.ts";
import type { JobStatus } from "../../src/shared/contract/job.ts";

/** A job of the stand-in. Tests may read everything in it. */
export type SideJob = {
  id: string;
  projectId: string;
  /** The prompts of all turns that have one, in order. */
  prompts: string[];
  status: JobStatus;
  prLink: string | null;
  createdAt: string;
  archivedAt: string | null;
  /** The number of successful gets since the current turn began. */
  pollsOfTurn: number;
  /**
   * The gets that still show the previous turn, as may happen at a service right after a
   * message.
   */
  staleReads: { left: number; record: Sent<typeof ContractJob> } | null;
  /** The turns in the form in which level 1 reports them. */
  turns: Sent<typeof JobTurn>[];
  /** The pull request in the form in which level 1 reports it. Null if none is followed. */
  pullRequest: Sent<typeof FollowedPullRequest> | null;
  /** The questions of turns that haven't ended, in the form in which level 1 reports them. */
  questions: SideQuestion[];
};

/** A question and its answer, if it has one. */
export type SideQuestion = Sent<typeof JobQuestion> & { answer: string | null };

/**
 * The end of a job. Without `prLink`, the job keeps its pull request. `turn` is reported of the
 * turn.
 */
export type SideOutcome = {
  status: "completed" | "failed" | "archived";
  prLink?: string | null;
  turn?: Partial<Sent<typeof JobTurn>>;
};

/** Decides what becomes of jobs from the next create, message or get on. */
export class JobScript {
  #onCreate: ((job: SideJob) => void) | null = null;
  #end: { polls: number; outcome: (job: SideJob) => SideOutcome; patience: number } | null = null;
  #staleReads = 0;

  /** Calls `hook` with each new job before the create is answered. The hook may change the job. */
  onCreate(hook: (job: SideJob) => void): void {
    this.#onCreate = hook;
  }

  /**
   * Makes every turn complete with its `polls`-th get or request to the feed. 0 means at once.
   * Without a `prLink`, nothing needed to be changed.
   */
  completeAfterPolls(polls: number, outcome: { prLink?: string | null } = {}): void {
    this.endAfterPolls(polls, () => ({ status: "completed", ...outcome }));
  }

  /**
   * Like {@link completeAfterPolls} with any outcome. While the agent waits for an answer, the turn
   * ends `patience` polls later.
   */
  endAfterPolls(polls: number, outcome: (job: SideJob) => SideOutcome, patience = 0): void {
    this.#end = { polls, outcome, patience };
  }

  /** Makes the first `reads` gets after a message show the job as it was before. */
  staleReadsAfterMessage(reads: number): void {
    this.#staleReads = reads;
  }

  /** Goes back to the beginning: jobs stay active until the test ends them. */
  reset(): void {
    this.#onCreate = null;
    this.#end = null;
    this.#staleReads = 0;
  }

  created(job: SideJob, at: string): void {
    this.#onCreate?.(job);
    this.#advance(job, at);
  }

  messaged(job: SideJob, before: Sent<typeof ContractJob>, at: string): void {
    job.staleReads = this.#staleReads > 0 ? { left: this.#staleReads, record: before } : null;
    this.#advance(job, at);
  }

  polled(job: SideJob, at: string): void {
    job.pollsOfTurn += 1;
    this.#advance(job, at);
  }

  #advance(job: SideJob, at: string): void {
    if (job.status !== "active" || this.#end === null) return;
    const { polls, outcome, patience } = this.#end;
    const isWaiting = job.questions.some(({ answer }) => answer === null);
    if (job.pollsOfTurn >= polls + (isWaiting ? patience : 0)) endJob(job, outcome(job), at);
  }
}

/** Ends the current turn. `at` is in ISO 8601. */
export function endJob(job: SideJob, { status, prLink, turn = {} }: SideOutcome, at: string): void {
  const current = job.turns.at(-1);
  const kind = prLink ? "pull-request" : "no-changes";
  const outcome = status === "completed" ? kind : status;
  if (current !== undefined) Object.assign(current, { status: "ended", outcome, endedAt: at, ...turn });
  // Questions end with their turn.
  job.questions = job.questions.filter((question) => question.turn !== current?.number);
  job.status = status;
  if (prLink !== undefined) job.prLink = prLink;
  if (status === "archived") job.archivedAt = at;
}

/** Makes a turn that was just accepted. `at` is in ISO 8601. */
export function newSideTurn(number: number, at: string, kind?: TurnAct | "ask"): Sent<typeof JobTurn> {
  return {
    number,
    ...(kind === undefined ? {} : { kind }),
    status: "waiting",
    outcome: null,
    reason: null,
    summary: null,
    step: null,
    plan: [],
    usage: null,
    pullRequest: null,
    branch: null,
    acceptedAt: at,
    startedAt: null,
    endedAt: null,
    leftOut: [],
    answer: null,
    checks: [],
    claims: null,
    context: [],
    notes: [],
  };
}

/** Returns the job as it is sent, with the fields of level 1 if both sides speak it. */
export function recordOf(job: SideJob, { isAtLevel1 }: { isAtLevel1: boolean }): Sent<typeof FullJob> {
  return {
    id: job.id,
    status: job.status,
    source: { repository: "acme/docs", ref: "main" },
    model: "side-model-1",
    prLink: job.prLink,
    createdAt: job.createdAt,
    archivedAt: job.archivedAt,
    ...(isAtLevel1 && {
      turns: structuredClone(job.turns),
      questions: job.questions.map(asTold),
      pullRequest: structuredClone(job.pullRequest),
    }),
  };
}

function asTold(question: SideQuestion): Sent<typeof JobQuestion> {
  const { answer: _, ...told } = question;
  return told;
}
