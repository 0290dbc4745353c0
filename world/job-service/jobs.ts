import type { ContractJob, FullJob } from "../../src/shared/contract/job.ts";
import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { JobQuestion } from "../../src/shared/contract/question.ts";
import type { JobTurn } from "../../src/shared/contract/turn.ts";
import type { JobStatus } from "../../src/shared/contract/job.ts";

/** A job as the service side holds it; tests may read all of it. */
export type SideJob = {
  id: string;
  projectId: string;
  /** The prompt of every turn, in order. */
  prompts: string[];
  status: JobStatus;
  prLink: string | null;
  createdAt: string;
  archivedAt: string | null;
  /** Successful gets since the current turn began. */
  pollsOfTurn: number;
  /** Gets that still show the previous turn, as a service may do right after a message. */
  staleReads: { left: number; record: Sent<typeof ContractJob> } | null;
  /** As a service tells them that tells of turns. */
  turns: Sent<typeof JobTurn>[];
  /** As a service that follows pull requests reports it. Null if it follows none. */
  pullRequest: Sent<typeof FollowedPullRequest> | null;
  /** Those of turns that have not ended, as a service tells them that tells of questions. */
  questions: SideQuestion[];
};

/** A question and the answer it has. */
export type SideQuestion = Sent<typeof JobQuestion> & { answer: string | null };

/** How a job ends. `prLink` absent: the job keeps the one it has. `turn`: what is told of the turn. */
export type SideOutcome = {
  status: "completed" | "failed" | "archived";
  prLink?: string | null;
  turn?: Partial<Sent<typeof JobTurn>>;
};

/** How jobs behave from the next create, message or get on. */
export class JobScript {
  #onCreate: ((job: SideJob) => void) | null = null;
  #end: { polls: number; outcome: (job: SideJob) => SideOutcome; patience: number } | null = null;
  #staleReads = 0;

  /** Called with each new job before the create is answered; may change it. */
  onCreate(hook: (job: SideJob) => void): void {
    this.#onCreate = hook;
  }

  /** Every turn completes with its `polls`-th get, or request of the feed; with 0, at once. No `prLink`: nothing needed changing. */
  completeAfterPolls(polls: number, outcome: { prLink?: string | null } = {}): void {
    this.endAfterPolls(polls, () => ({ status: "completed", ...outcome }));
  }

  /** As {@link completeAfterPolls}, with any outcome; so many polls later while the agent waits for an answer. */
  endAfterPolls(polls: number, outcome: (job: SideJob) => SideOutcome, patience = 0): void {
    this.#end = { polls, outcome, patience };
  }

  /** After a message, the first `reads` gets still show the job as it was before. */
  staleReadsAfterMessage(reads: number): void {
    this.#staleReads = reads;
  }

  /** Back to: jobs stay active until the test ends them. */
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

/** Ends the current turn. `at`: ISO 8601. */
export function endJob(job: SideJob, { status, prLink, turn = {} }: SideOutcome, at: string): void {
  const current = job.turns.at(-1);
  const kind = prLink ? "pull-request" : "no-changes";
  const outcome = status === "completed" ? kind : status;
  if (current !== undefined) Object.assign(current, { status: "ended", outcome, endedAt: at, ...turn });
  // They end with their turn.
  job.questions = job.questions.filter((question) => question.turn !== current?.number);
  job.status = status;
  if (prLink !== undefined) job.prLink = prLink;
  if (status === "archived") job.archivedAt = at;
}

/** A turn that was just accepted. `at`: ISO 8601. */
export function newSideTurn(number: number, at: string): Sent<typeof JobTurn> {
  return {
    number,
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

/** The job as it goes over the wire, with what level 1 adds if both sides speak it. */
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
