import type { Clock } from "../../../shared/machine/ports.ts";
import { createRedact } from "../../base/redaction.ts";
import { CodeHostTokens } from "../code-host/code-host-tokens.ts";
import { GitHubFollowedHost } from "../code-host/github-followed-host.ts";
import { hostedName, type ServiceProject } from "../../config/config.ts";
import { type Env, envValue, projectSecrets } from "../../config/env.ts";
import type { PreviewSettings } from "./preview.ts";
import { boundRetryAfterMs } from "../../../shared/machine/retry-after.ts";

/** A repository of a code host, with the projects that access it with the same token. */
export type FollowedRepository = {
  /** Identifies the repository by its API, its name, and the name of the token. */
  key: string;
  /** `owner/repo` in lower case. */
  fullName: string;
  projectIds: string[];
  /** The settings for the preview of each project's pages, by its id. */
  previews: Map<string, PreviewSettings>;
  /** The branches that the projects' pull requests go to. */
  baseBranches: Set<string>;
  pollMs: number;
  host: GitHubFollowedHost;
  /** Shared by all repositories with this token. */
  budget: CallBudget;
  /** Limits how often this repository is looked at before its turn, because webhooks ask for it. */
  pace: CallBudget;
};

/** The repositories of all projects that have a code host. */
export function repositoriesOf(
  projects: Iterable<ServiceProject>,
  { env, clock }: { env: Env; clock: Clock },
): FollowedRepository[] {
  const found = new Map<string, FollowedRepository>();
  const tokens = new CodeHostTokens({ env, clock });
  /** Repositories with the same token share its budget. */
  const budgets = new Map<string, CallBudget>();
  for (const project of projects) {
    const { id, codeHost, baseBranch, previewHosts, liveUrl } = project;
    const preview = { previewHosts, liveUrl };
    if (codeHost.kind !== "github") continue;
    const { apiUrl, owner, repo, app, tokenEnv = "", pollSeconds } = codeHost;
    const pollMs = pollSeconds * 1000;
    const named = app === undefined ? tokenEnv : `${app.id}/${app.installationId}`;
    const key = `${hostedName(codeHost)} ${named}`;
    const known = found.get(key);
    if (known !== undefined) {
      known.projectIds.push(id);
      known.previews.set(id, preview);
      known.baseBranches.add(baseBranch);
      known.pollMs = Math.min(known.pollMs, pollMs);
      continue;
    }
    const token = JSON.stringify([apiUrl, app === undefined ? envValue(env, tokenEnv) : named]);
    const budget = budgets.get(token) ?? new CallBudget(clock);
    budgets.set(token, budget);
    const pace = new CallBudget(clock, WEBHOOKS_PART);
    const previews = new Map([[id, preview]]);
    const host = new GitHubFollowedHost({
      ...codeHost,
      wantsPreviews: () => [...previews.values()].some((each) => each.previewHosts.length > 0),
      tokens: tokens.of(codeHost),
      clock,
      redact: createRedact(projectSecrets(project, env)),
      onAnswer: (status, headers) => {
        for (const counted of [budget, pace]) counted.note(status, headers);
      },
      onBody: (bytes) => pace.noteBody(bytes),
    });
    const fullName = `${owner}/${repo}`.toLowerCase();
    const baseBranches = new Set([baseBranch]);
    const projectIds = [id];
    found.set(key, { key, fullName, projectIds, previews, baseBranches, pollMs, host, budget, pace });
  }
  return [...found.values()];
}

/** GitHub allows 5,000 an hour. The rest is for turns, which use the same token. */
const CALLS_PER_HOUR = 4000;
const CALL_MS = 3_600_000 / CALLS_PER_HOUR;
/** The calls that may be made at once after a quiet time. */
const BURST_MS = 300 * CALL_MS;
/** A build that reports hundreds of statuses leaves the rest of the calls to other repositories. */
const WEBHOOKS_PART = 1 / 4;
/**
 * So many bytes count as a further call. This thread reads them, and with long reviews somebody
 * could have it do little else.
 */
const CALL_BYTES = 512 * 1024;
/**
 * Following pauses when less than this part of the host's limit remains, because others use the
 * token, too.
 */
const RESERVE = 0.1;

/**
 * Limits the calls that following makes with one token. Calls that are answered with 304 are free.
 */
class CallBudget {
  readonly #clock: Clock;
  readonly #part: number;
  /** When all calls so far would be done at an even pace. Both are by the monotonic clock. */
  #usedUntil = 0;
  #pausedUntil = 0;

  /** `part` is the part of all calls that it allows. */
  constructor(clock: Clock, part = 1) {
    this.#clock = clock;
    this.#part = part;
  }

  /** Counts a call, given its answer. */
  note(status: number, headers: Headers): void {
    const nowMs = this.#clock.wallMs();
    if (status !== 304) this.#use(1);
    const told = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
    const resetMs = told("reset") * 1000;
    if (resetMs > nowMs && told("remaining") < told("limit") * RESERVE) {
      this.pause(boundRetryAfterMs(resetMs - nowMs));
    }
  }

  /** Counts what had to be read of an answer. */
  noteBody(bytes: number): void {
    this.#use(bytes / CALL_BYTES);
  }

  #use(calls: number): void {
    const since = Math.max(this.#usedUntil, this.#clock.monotonicMs());
    this.#usedUntil = since + (calls * CALL_MS) / this.#part;
  }

  /** Pauses all calls for this time, as the host asked. */
  pause(forMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonicMs() + forMs);
  }

  /** When the next call may be made, epoch milliseconds. A time in the past means at once. */
  freeAt(): number {
    const freeAt = Math.max(this.#usedUntil - BURST_MS, this.#pausedUntil);
    return Math.ceil(this.#clock.now() + freeAt - this.#clock.monotonicMs());
  }
}
