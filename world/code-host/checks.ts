import type { Host } from "./host.ts";
import type { PullRequests } from "./pull-requests.ts";
import { type Annotation, type CommitCheck, type CommitStatus, latestBy } from "./commit-records.ts";

/** A check as people see it: still running, or its result. */
export type CheckResult = "pending" | "passed" | "failed";

type NewAnnotation = Pick<Annotation, "path" | "startLine" | "message"> & Partial<Annotation>;

/** A check's result, and its texts and links. */
export type CheckReport = {
  sha: string;
  name: string;
  result: CheckResult;
  /** The title and the short text below it. */
  summary?: string | null | undefined;
  text?: string | null | undefined;
  /** Annotations of lines. By default, they end on the line where they begin, and are failures. */
  annotations?: readonly NewAnnotation[] | undefined;
  /** The address where people read more: `details_url`. */
  link?: string | null | undefined;
};

export type NewCheckRun = Pick<CommitCheck, "headSha" | "name"> & Partial<Omit<CommitCheck, "id">>;

/** Stores a new check run, or changes the one with this `id`, and reports it. */
export async function saveCheckRun(
  host: Host,
  { records, repository }: PullRequests,
  wanted: NewCheckRun & { id?: number },
  sender: string,
): Promise<CommitCheck> {
  const time = `${host.now().toISOString().slice(0, 19)}Z`;
  const conclusion = wanted.conclusion ?? null;
  // A conclusion alone ends the run, too (docs.github.com/rest/checks/runs).
  const status = conclusion === null ? (wanted.status ?? "queued") : "completed";
  const run: CommitCheck = {
    title: null,
    summary: null,
    text: null,
    annotations: [],
    detailsUrl: null,
    startedAt: time,
    ...wanted,
    id: wanted.id ?? records.nextId(),
    status,
    conclusion,
    completedAt: status === "completed" ? (wanted.completedAt ?? time) : null,
  };
  await records.saveCheckRun(run);
  const runs = latestBy(records.checkRuns(run.headSha), ({ name }) => name);
  if (runs.every((known) => known.status === "completed")) {
    const isFine = runs.every((known) => /^(?:success|neutral|skipped)$/.test(known.conclusion ?? ""));
    const ended = {
      kind: "checks-ended",
      sha: run.headSha,
      conclusion: isFine ? "success" : "failure",
    } as const;
    host.tell({ ...ended, repository, sender });
  }
  return run;
}

export async function addStatus(
  host: Host,
  { records, repository }: PullRequests,
  wanted: Omit<CommitStatus, "id" | "createdAt">,
): Promise<CommitStatus> {
  const createdAt = `${host.now().toISOString().slice(0, 19)}Z`;
  const status: CommitStatus = { ...wanted, id: records.nextId(), createdAt };
  await records.addStatus(status);
  host.tell({ kind: "status", status, repository, sender: wanted.creator });
  return status;
}

/**
 * Sets a check of a commit. If a run of it has begun, this one continues or ends. Otherwise a new
 * run begins.
 */
export async function setCheck(
  host: Host,
  pullRequests: PullRequests,
  check: CheckReport,
  sender: string,
): Promise<CommitCheck> {
  const { sha, name, result, summary, text, annotations, link } = check;
  const before = pullRequests.records.checkRuns(sha).findLast((run) => run.name === name);
  return saveCheckRun(
    host,
    pullRequests,
    {
      ...(before?.status === "completed" ? {} : before),
      headSha: sha,
      name,
      ...(summary === undefined ? {} : { title: summary, summary }),
      ...(text === undefined ? {} : { text }),
      ...(annotations === undefined ? {} : { annotations: annotations.map(annotationOf) }),
      ...(link === undefined ? {} : { detailsUrl: link }),
      status: result === "pending" ? "in_progress" : "completed",
      conclusion: result === "pending" ? null : result === "passed" ? "success" : "failure",
    },
    sender,
  );
}

function annotationOf(given: NewAnnotation): Annotation {
  return { endLine: given.startLine, level: "failure", title: null, rawDetails: null, ...given };
}
