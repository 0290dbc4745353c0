import { codeOf, messageOf } from "../../../shared/errors.ts";
import type { NewTask, TaskEnd, TaskQueue } from "../../../shared/queue/task-queue.ts";
import type { NoRecords } from "../../../shared/store/record-types.ts";
import { detailsOf, RunError, TransientRunError } from "../../base/run-error.ts";
import type { PullFacts, PullLook } from "../code-host/github-pull-facts.ts";
import type { FollowedPullRequest } from "../../../shared/contract/pull-request.ts";
import type { ReviewComments } from "../code-host/github-review-comments.ts";
import { RefusedByCodeHostError } from "../code-host/github-fault.ts";
import { jobBranch } from "../../config/branches.ts";
import type { FollowedJob } from "../../jobs/followed-store.ts";
import type { ServiceTaskDeps } from "../../jobs/service-task-deps.ts";
import { keepFresh } from "./keep-fresh.ts";
import { editsTask } from "./edits.ts";
import { liveTask } from "./live.ts";
import { previewOf } from "./preview.ts";
import { answerUnasked, untilPassEnds } from "./answer-unasked.ts";
import { type AfterLook, afterSeen, afterUnseen, countingChecks, toFollowed } from "./judge.ts";
import type { FollowedRepository } from "./repositories.ts";

/** The shortest time between two runs, however many webhooks arrive. */
const SOONEST_MS = 1000;
/** The time between two reads of a base branch, if the host can't say that it is as it was. */
const BASE_WITHOUT_ETAG_MS = 5 * 60_000;
/** One run of the task does a limited amount of work. */
const MAX_LOOKS = 200;
const FAULT_MS = { first: 10_000, max: 10 * 60_000 };
const REFUSALS = [401, 403, 404];
const NONE: ReadonlySet<string> = new Set();

export type FollowDeps = Pick<ServiceTaskDeps, "store" | "projects" | "clock" | "logger" | "measure"> & {
  queue: Pick<TaskQueue<NoRecords>, "add" | "commit">;
};

/**
 * Follows the pull requests of one repository. Its memory only saves calls: a new process reads the
 * list and looks at each pull request once more.
 */
export class RepositoryFollower {
  readonly repository: FollowedRepository;
  readonly #deps: FollowDeps;
  #etag: string | null = null;
  /** The time of the newest change in the last list. Null before the first list. */
  #listedUntil: number | null = null;
  /** When each pull request last changed according to the newest list, by number. */
  #listed: ReadonlyMap<number | null, number> = new Map();
  #listAt = 0;
  /** The newest commit of each base branch, and when to ask for it again. */
  readonly #bases = new Map<string, { sha: string | null; etag: string | null; nextAt: number }>();
  /** The number of times in a row that the list couldn't be read. */
  #listFaults = 0;
  #notBefore = 0;
  #ranAt = 0;
  #faults = 0;
  /** True at the start: the list alone doesn't tell what happened while nobody read it. */
  #looksAtAll = true;

  constructor(repository: FollowedRepository, deps: FollowDeps) {
    this.repository = repository;
    this.#deps = deps;
  }

  /** Safe to run twice. The second run finds little to look at. */
  async run(stopped: AbortSignal): Promise<TaskEnd> {
    const { store, clock } = this.#deps;
    const { projectIds, budget, pace, pollMs } = this.repository;
    if (store.followed.nextLookAt(projectIds) === null) return { kind: "done" };
    this.#ranAt = clock.now();
    const freeAt = () => Math.max(this.#notBefore, budget.freeAt());
    if (freeAt() > clock.now()) return { kind: "again", dueAt: freeAt() };
    try {
      if (clock.now() >= this.#listAt) {
        await this.#list(stopped).catch((thrown) => this.#listLater(thrown));
      }
      await this.#lookAtBases(stopped);
      await this.#lookAtDue(stopped);
      if (this.#faults > 0) this.#log("info", {}, "pull requests can be followed again");
      this.#faults = 0;
    } catch (thrown) {
      // Other faults are bugs of ours, which the queue handles.
      if (!stopped.aborted && thrown instanceof RunError) await this.#failed(thrown);
      else if (!stopped.aborted) throw thrown;
    }
    const pacedAt = Math.min(pace.freeAt(), this.#ranAt + pollMs);
    this.#notBefore = Math.max(this.#notBefore, this.#ranAt + SOONEST_MS, pacedAt);
    const lookAt = store.followed.nextLookAt(projectIds);
    if (lookAt === null) return { kind: "done" };
    return { kind: "again", dueAt: Math.max(Math.min(this.#listAt, lookAt), freeAt()) };
  }

  /** Schedules a look at the pull requests that the list shows as changed. */
  async #list(signal: AbortSignal): Promise<void> {
    const { store, clock, queue } = this.#deps;
    const { host, projectIds, pollMs } = this.repository;
    const listed = await host.changed(this.#listedUntil, this.#etag, signal);
    const nowMs = clock.now();
    const looksAtAll = this.#looksAtAll || listed?.isComplete === false;
    if (listed !== null) {
      this.#listed = new Map(listed.pulls.map(({ number, updatedAt }) => [number, updatedAt]));
    }
    if (listed !== null || looksAtAll) {
      const changed = store.followed
        .of(projectIds)
        .filter((job) => looksAtAll || this.#listedAt(job) > job.memory.seenAt);
      await queue.commit(() => {
        for (const { jobId } of changed) store.followed.lookNow(jobId, nowMs);
        return { value: null };
      });
    }
    // Set only now. If the commit fails, the list must be read again.
    this.#listAt = nowMs + pollMs;
    if (this.#listFaults > 0) this.#log("info", {}, "the list of pull requests can be read again");
    this.#listFaults = 0;
    this.#looksAtAll = false;
    if (listed === null) return;
    this.#etag = listed.etag;
    this.#listedUntil = Math.max(this.#listedUntil ?? 0, ...this.#listed.values()) || null;
  }

  /** Reads the base branches now, because a webhook says that one has moved. */
  readBasesNow(): void {
    for (const base of this.#bases.values()) base.nextAt = 0;
  }

  /**
   * Schedules a look at all open pull requests into a branch that has moved. That changes whether
   * they can be merged, but not the time of their last change, so the list doesn't tell.
   */
  async #lookAtBases(signal: AbortSignal): Promise<void> {
    const { store, clock, queue } = this.#deps;
    const { baseBranches, projectIds, pollMs } = this.repository;
    const branches = new Set([...baseBranches, ...store.followed.openBases(projectIds)]);
    for (const branch of this.#bases.keys()) if (!branches.has(branch)) this.#bases.delete(branch);
    for (const branch of branches) {
      const known = this.#bases.get(branch);
      if (known !== undefined && clock.now() < known.nextAt) continue;
      const read = await this.#headOf(branch, known?.etag ?? null, signal);
      const { sha, etag } = read ?? known ?? { sha: null, etag: null };
      if (sha !== null && known !== undefined && sha !== known.sha) {
        await queue.commit(() => {
          store.followed.lookAtBase(projectIds, branch, clock.now());
          return { value: null };
        });
      }
      const pauseMs = etag === null ? Math.max(pollMs, BASE_WITHOUT_ETAG_MS) : pollMs;
      // Set only now. If the commit fails, the branch must be read again.
      this.#bases.set(branch, { sha: sha ?? known?.sha ?? null, etag, nextAt: this.#ranAt + pauseMs });
    }
  }

  /** Null if the branch is as it was, or can't be read for the moment. */
  async #headOf(branch: string, etag: string | null, signal: AbortSignal) {
    try {
      return await this.repository.host.headOf(branch, etag, signal);
    } catch (thrown) {
      if (!(thrown instanceof TransientRunError) || thrown.retryAfterMs !== null) throw thrown;
      return null;
    }
  }

  /** A list that can't be read for the moment holds up no look that is due. */
  #listLater(thrown: unknown): void {
    if (!(thrown instanceof TransientRunError) || thrown.retryAfterMs !== null) throw thrown;
    this.#listFaults += 1;
    if (this.#listFaults === 1) {
      this.#log("warn", faultFields(thrown), "the list of pull requests can't be read now; trying again");
    }
    this.#listAt = this.#deps.clock.now() + faultDelayMs(this.#listFaults);
  }

  #listedAt({ link }: FollowedJob): number {
    return this.#listed.get(numberOf(link)) ?? 0;
  }

  async #lookAtDue(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const { host, budget, projectIds } = this.repository;
    // Read once, so that what is requested meanwhile, again and again, waits for the next run.
    const all = store.followed.due(projectIds, clock.now(), MAX_LOOKS);
    while (all.length > 0 && budget.freeAt() <= clock.now()) {
      const due = all.splice(0, host.batch);
      const numbers = new Set(due.flatMap(({ link }) => numberOf(link) ?? []));
      const looks = numbers.size === 0 ? new Map() : await host.look([...numbers], signal);
      const comments = await host.comments([...looks.values()].filter(asksForChanges), signal);
      const looked: [FollowedJob, AfterLook][] = [];
      for (const job of due) {
        const number = numberOf(job.link);
        const look = number === null ? "not-there" : looks.get(number);
        if (look !== undefined) looked.push([job, await this.#judge(job, look, comments, signal)]);
      }
      await this.#keep(looked);
    }
  }

  async #judge(
    job: FollowedJob,
    look: PullLook,
    comments: ReadonlyMap<number, ReviewComments>,
    signal: AbortSignal,
  ): Promise<AfterLook> {
    const { clock } = this.#deps;
    const { host, pollMs } = this.repository;
    if (look === "unreadable" || look === "not-there" || !isOurs(look, job)) {
      if (look === "unreadable" && job.memory.refusals === 0) {
        this.#log("warn", { pull_request: job.link }, "a pull request can't be read; trying again");
      }
      return afterUnseen(job, look !== "unreadable", clock.now());
    }
    const hasFailed = countingChecks(look)?.some(({ state }) => state === "failed") === true;
    const before = hasFailed && look.state === "open" ? await host.failedBefore(look, signal) : NONE;
    const { updatedAt } = look;
    // Its repository may have another name by now. The old address still leads there.
    const ours = { ...look, url: job.link };
    const said = comments.get(look.number);
    const judged = before
      ? toFollowed(ours, before, said)
      : toFollowed({ ...ours, checks: null }, NONE, said);
    const hasReasons = judged.checks.state === "failed";
    const explained = hasReasons ? await this.#withReasons(judged, look, signal) : judged;
    const live = look.state === "merged" ? job.record?.live : undefined;
    const record = { ...explained, ...this.#previewOf(job, look), ...(live !== undefined && { live }) };
    const seen = { record, updatedAt, listedAt: this.#listedAt(job) };
    return afterSeen(job, seen, { nowMs: clock.now(), pollMs });
  }

  async #withReasons(
    record: FollowedPullRequest,
    facts: PullFacts,
    signal: AbortSignal,
  ): Promise<FollowedPullRequest> {
    const { checks, state } = record;
    const reasons = state === "open" ? await this.repository.host.reasons(facts, checks.failed, signal) : [];
    return reasons.length === 0 ? record : { ...record, checks: { ...checks, reasons } };
  }

  /** A preview that is gone after the merge is nothing that anybody needs anymore. */
  #previewOf({ projectId }: FollowedJob, facts: PullFacts): { preview?: string } {
    const settings = this.repository.previews.get(projectId);
    const preview = settings === undefined || facts.state !== "open" ? null : previewOf(facts, settings);
    return preview === null ? {} : { preview };
  }

  async #keep(looked: readonly (readonly [FollowedJob, AfterLook])[]): Promise<void> {
    const nowMs = this.#deps.clock.now();
    await this.#deps.queue.commit(() => {
      const adds = looked.flatMap(([job, after]) => {
        this.#deps.store.followed.setLooked(job, untilPassEnds(after, nowMs));
        // What people ask for comes before what the base branch brings.
        const answering = answerUnasked(this.#deps, job, after, nowMs);
        const fresh = keepFresh(this.#deps, job, after.record, nowMs);
        return [...answering, ...fresh, ...this.#mergeTasks(job, after)];
      });
      return { value: null, adds };
    });
    for (const [{ jobId, projectId, link, record: before }, { record }] of looked) {
      const state = record?.state ?? "open";
      if (state !== "open" && state !== before?.state) {
        this.#deps.measure({ kind: "pull-request-ended", project: projectId, state });
      }
      if (record === null || before === null || record.isVisible === before.isVisible) continue;
      const fields = { job_id: jobId, pull_request: link };
      if (record.isVisible) this.#log("info", fields, "a pull request can be seen again");
      else this.#log("warn", fields, "a pull request can't be seen anymore");
    }
  }

  /** Notes that a pull request was merged. Returns the tasks that find out more about that. */
  #mergeTasks({ jobId, projectId, link, record: before }: FollowedJob, { record }: AfterLook): NewTask[] {
    if (record?.state !== "merged" || before?.state === "merged") return [];
    const { store, clock } = this.#deps;
    const merge = { jobId, number: record.number, link, mergedAt: clock.now() };
    store.merges.add(jobId, link, merge.mergedAt);
    const isShown = this.repository.previews.get(projectId)?.liveUrl !== undefined;
    return [editsTask(merge), ...(isShown ? [liveTask(merge)] : [])];
  }

  async #failed(error: RunError): Promise<void> {
    const { store, clock } = this.#deps;
    const { projectIds, budget } = this.repository;
    const nowMs = clock.now();
    this.#faults += 1;
    // Logs a fault once, however long it lasts.
    if (this.#faults === 1) {
      this.#log("warn", faultFields(error), "pull requests can't be followed now; trying again");
    }
    const retryAfterMs = (error instanceof TransientRunError && error.retryAfterMs) || 0;
    budget.pause(retryAfterMs);
    this.#notBefore = nowMs + faultDelayMs(this.#faults);
    if (!(error instanceof RefusedByCodeHostError) || !REFUSALS.includes(error.status)) return;
    this.#looksAtAll = true;
    this.#listAt = 0;
    await this.#keep(store.followed.of(projectIds).map((job) => [job, afterUnseen(job, true, nowMs)]));
  }

  #log(level: "info" | "warn", fields: object, message: string): void {
    this.#deps.logger[level]({ repository: this.repository.fullName, ...fields }, message);
  }
}

/** True if a look shows an open pull request with a review that asks for changes. */
function asksForChanges(look: PullLook): look is PullFacts {
  if (look === "not-there" || look === "unreadable" || look.state !== "open") return false;
  return look.reviews.some(({ state }) => state === "changes-requested");
}

function faultFields(error: RunError) {
  return { problem: messageOf(error), details: detailsOf(error), code: codeOf(error) };
}

/** The pause after so many faults in a row, milliseconds. */
function faultDelayMs(faults: number): number {
  return Math.min(FAULT_MS.max, FAULT_MS.first * 2 ** Math.min(faults - 1, 10));
}

/**
 * The settings may name another repository by now, which has a pull request with this number, too.
 */
function isOurs({ headRef, url }: PullFacts, { jobId, branchPrefix, link }: FollowedJob): boolean {
  return headRef === jobBranch(branchPrefix, jobId) || url === link;
}

/** The number in the address of a pull request's page. */
export function numberOf(link: string): number | null {
  const number = /\/(?:pull|pulls|merge_requests)\/(\d{1,9})\/?$/.exec(link)?.[1];
  return number === undefined ? null : Number(number);
}
