import { join } from "node:path";
import { z } from "zod";
import { readJsonFile, replaceJsonFile } from "./json-file.ts";

export const CONCLUSIONS = [
  "action_required",
  "cancelled",
  "failure",
  "neutral",
  "skipped",
  "stale",
  "success",
  "timed_out",
] as const;

export const ANNOTATION_LEVELS = ["notice", "warning", "failure"] as const;

/** A remark of a check about lines in a file. */
export const Annotation = z.object({
  path: z.string(),
  startLine: z.int().positive(),
  endLine: z.int().positive(),
  level: z.enum(ANNOTATION_LEVELS),
  message: z.string(),
  title: z.string().nullable().default(null),
  rawDetails: z.string().nullable().default(null),
});
export type Annotation = z.infer<typeof Annotation>;

/** A check run in GitHub's words (docs.github.com/rest/checks/runs). */
export const CommitCheck = z.object({
  id: z.int().positive(),
  headSha: z.string(),
  name: z.string(),
  status: z.enum(["queued", "in_progress", "completed"]),
  conclusion: z.enum(CONCLUSIONS).nullable(),
  title: z.string().nullable(),
  summary: z.string().nullable(),
  text: z.string().nullable().default(null),
  annotations: z.array(Annotation).default([]),
  detailsUrl: z.string().nullable(),
  startedAt: z.string(),
  completedAt: z.string().nullable(),
});
export type CommitCheck = z.infer<typeof CommitCheck>;

/** A commit status, which is the older kind of check (docs.github.com/rest/commits/statuses). */
export const CommitStatus = z.object({
  id: z.int().positive(),
  sha: z.string(),
  context: z.string(),
  state: z.enum(["error", "failure", "pending", "success"]),
  description: z.string().nullable(),
  targetUrl: z.string().nullable(),
  creator: z.string(),
  createdAt: z.string(),
});
export type CommitStatus = z.infer<typeof CommitStatus>;

export const DEPLOYMENT_STATES = [
  "error",
  "failure",
  "inactive",
  "in_progress",
  "pending",
  "queued",
  "success",
] as const;

/** A state that a deployment has reached (docs.github.com/rest/deployments/statuses). */
export const DeploymentStatus = z.object({
  id: z.int().positive(),
  state: z.enum(DEPLOYMENT_STATES),
  description: z.string(),
  environment: z.string(),
  environmentUrl: z.string(),
  logUrl: z.string(),
  creator: z.string(),
  createdAt: z.string(),
});
export type DeploymentStatus = z.infer<typeof DeploymentStatus>;

/** A commit that is, or was, deployed (docs.github.com/rest/deployments/deployments). */
export const Deployment = z.object({
  id: z.int().positive(),
  sha: z.string(),
  ref: z.string(),
  task: z.string(),
  environment: z.string(),
  description: z.string().nullable(),
  isTransient: z.boolean(),
  isProduction: z.boolean(),
  creator: z.string(),
  createdAt: z.string(),
  /** The statuses, oldest first. */
  statuses: z.array(DeploymentStatus),
});
export type Deployment = z.infer<typeof Deployment>;

/** The conditions for a merge into a branch. */
export const Protection = z.object({
  approvals: z.int().min(0).max(6).default(0),
  requiredChecks: z.array(z.string()).default([]),
  /** True if the head must contain the present base. */
  isStrict: z.boolean().default(false),
  /** True if a push invalidates earlier approvals. */
  dismissesStaleReviews: z.boolean().default(false),
});
export type Protection = z.infer<typeof Protection>;

const StoredRecords = z.object({
  version: z.literal(1),
  checkRuns: z.array(CommitCheck),
  statuses: z.array(CommitStatus),
  deployments: z.array(Deployment).default([]),
  protections: z.record(z.string(), Protection),
});
type StoredRecords = z.infer<typeof StoredRecords>;

/**
 * The checks and deployments of one repository, and the rules of its branches, in one JSON file.
 */
export class CommitRecords {
  readonly #file: string;
  #stored: StoredRecords = { version: 1, checkRuns: [], statuses: [], deployments: [], protections: {} };

  constructor(dataDir: string, fullName: string) {
    this.#file = join(dataDir, "checks", `${fullName}.json`);
  }

  /** Reads the file. Rejects with `CodeHostError` if it doesn't hold what was once written. */
  async load(): Promise<void> {
    this.#stored = (await readJsonFile(this.#file, StoredRecords, "checks")) ?? this.#stored;
  }

  protection(branch: string): Protection | null {
    return this.#stored.protections[branch] ?? null;
  }

  /** Returns every check run of a commit, oldest first. */
  checkRuns(sha: string): CommitCheck[] {
    return this.#stored.checkRuns.filter(({ headSha }) => headSha === sha);
  }

  checkRun(id: number): CommitCheck | undefined {
    return this.#stored.checkRuns.find((run) => run.id === id);
  }

  /** Returns every status of a commit, oldest first. */
  statuses(sha: string): CommitStatus[] {
    return this.#stored.statuses.filter((status) => status.sha === sha);
  }

  /** Returns every deployment, oldest first. */
  deployments(): readonly Deployment[] {
    return this.#stored.deployments;
  }

  nextId(): number {
    const { checkRuns, statuses, deployments } = this.#stored;
    const all = [...checkRuns, ...statuses, ...deployments, ...deployments.flatMap((each) => each.statuses)];
    return Math.max(1000, ...all.map(({ id }) => id)) + 1;
  }

  async saveProtection(branch: string, protection: Protection | null): Promise<void> {
    const { [branch]: _before, ...others } = this.#stored.protections;
    await this.#replace({ protections: protection === null ? others : { ...others, [branch]: protection } });
  }

  /** Stores a new check run, or a new state of a known one. */
  async saveCheckRun(run: CommitCheck): Promise<void> {
    const { checkRuns } = this.#stored;
    const isKnown = checkRuns.some(({ id }) => id === run.id);
    await this.#replace({
      checkRuns: isKnown
        ? checkRuns.map((known) => (known.id === run.id ? run : known))
        : [...checkRuns, run],
    });
  }

  async addStatus(status: CommitStatus): Promise<void> {
    await this.#replace({ statuses: [...this.#stored.statuses, status] });
  }

  /** Stores new deployments, and new states of known ones. */
  async saveDeployments(changed: readonly Deployment[]): Promise<void> {
    const all = new Map([...this.#stored.deployments, ...changed].map((each) => [each.id, each]));
    await this.#replace({ deployments: [...all.values()] });
  }

  async #replace(change: Partial<StoredRecords>): Promise<void> {
    const next = { ...this.#stored, ...change };
    await replaceJsonFile(this.#file, next);
    this.#stored = next;
  }
}

/** Returns the newest item of each name. */
export function latestBy<Item>(items: readonly Item[], nameOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [nameOf(item), item])).values()];
}
