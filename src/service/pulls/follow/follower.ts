import { verify } from "@octokit/webhooks-methods";
import { z } from "zod";
import type { NewTask, Task, TaskEnd } from "../../../shared/queue/task-queue.ts";
import { type Env, envValue } from "../../config/env.ts";
import { RunError } from "../../base/run-error.ts";
import { json } from "../../base/json.ts";
import { type FollowDeps, numberOf, RepositoryFollower } from "./follow-repository.ts";
import { findEdits } from "./edits.ts";
import { type IsLive, lookForLive } from "./live.ts";
import { repositoriesOf } from "./repositories.ts";

/** Somebody waits for the answer. */
const ASK_MS = 5000;
const Payload = z.object({ repository: z.string() });
const Checked = z.object({ head_sha: z.string() }).optional().catch(undefined);
/**
 * The parts of a webhook that we read: the repository, and the pull request, the commit or the
 * branch that it is about.
 */
const Delivery = json(
  z.object({
    repository: z.object({ full_name: z.string() }),
    pull_request: z.object({ number: z.int() }).optional().catch(undefined),
    check_run: Checked,
    check_suite: Checked,
    deployment: z.object({ sha: z.string() }).optional().catch(undefined),
    sha: z.string().optional().catch(undefined),
    ref: z.string().optional().catch(undefined),
  }),
);

/** The result of a webhook. `absent` means that the project takes none. */
export type WebhookResult = "taken" | "ignored" | "forged" | "absent";

export type FollowerDeps = FollowDeps & {
  /** Says whether a page has what a merge brought. */
  isLive: IsLive;
  /** Holds the tokens and secrets that the settings name. */
  env: Env;
};

/** Follows the pull requests of all projects. */
export class Follower {
  readonly #deps: FollowerDeps;
  readonly #followers: readonly RepositoryFollower[];

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
    this.#followers = repositoriesOf(deps.projects.values(), deps).map(
      (repository) => new RepositoryFollower(repository, deps),
    );
  }

  /** Continues what an earlier process followed. */
  async start(): Promise<void> {
    for (const follower of this.#followers) await this.#deps.queue.add(followTask(follower));
  }

  /** The tasks to add once a turn of the job has ended. */
  tasksAfter(jobId: string): NewTask[] {
    const follower = this.#of(this.#deps.store.job(jobId)?.projectId);
    return follower === undefined ? [] : [followTask(follower)];
  }

  /** Looks at a job's pull request soon, because something was done with it. */
  async lookNow(jobId: string): Promise<void> {
    const { store, queue, clock } = this.#deps;
    await queue.commit(() => {
      store.followed.lookNow(jobId, clock.now());
      return { value: undefined, adds: this.tasksAfter(jobId) };
    });
  }

  /**
   * True if a job's pull request lacks commits of its base branch. Null if the code host doesn't
   * say.
   */
  async isBehind(jobId: string): Promise<boolean | null> {
    const job = this.#deps.store.job(jobId);
    const host = this.#of(job?.projectId)?.repository.host;
    const { baseRef, headSha } = job?.pullRequest ?? {};
    if (host === undefined || baseRef === undefined || headSha === undefined) return null;
    try {
      return await host.isBehind({ baseRef, headSha }, AbortSignal.timeout(ASK_MS));
    } catch (thrown) {
      // Whoever waits for the answer finds out otherwise.
      if (thrown instanceof RunError || thrown instanceof DOMException) return null;
      throw thrown;
    }
  }

  /** Looks once whether a merged change is on the site. */
  lookForLive(task: Task, stopped: AbortSignal) {
    return lookForLive(task, { ...this.#deps, placeOf: (id) => this.#placeOf(id) }, stopped);
  }

  /** Finds out if people changed what was merged. */
  findEdits(task: Task, stopped: AbortSignal) {
    return findEdits(task, { ...this.#deps, hostOf: (id) => this.#placeOf(id)?.host ?? null }, stopped);
  }

  /** A project and its code host. Null if either is no longer in the settings. */
  #placeOf(projectId: string | undefined) {
    const project = this.#deps.projects.get(projectId ?? "");
    const host = this.#of(projectId)?.repository.host;
    return project === undefined || host === undefined ? null : { project, host };
  }

  async run(task: Task, stopped: AbortSignal): Promise<TaskEnd> {
    const { repository: key } = Payload.parse(task.payload);
    const follower = this.#followers.find(({ repository }) => repository.key === key);
    // A repository that is no longer in the settings is followed again when it is back.
    return (await follower?.run(stopped)) ?? { kind: "done" };
  }

  /** A webhook only causes a look at the pull request, because it may be late or replayed. */
  async takeWebhook(projectId: string, signature: string, body: string): Promise<WebhookResult> {
    const { projects, env, store, queue, clock } = this.#deps;
    const codeHost = projects.get(projectId)?.codeHost;
    const secretEnv = codeHost?.kind === "github" ? codeHost.webhookSecretEnv : undefined;
    const secret = secretEnv === undefined ? null : envValue(env, secretEnv);
    const follower = this.#of(projectId);
    if (secret === null || follower === undefined) return "absent";
    if (signature === "" || body === "" || !(await verify(secret, body, signature))) return "forged";
    const { fullName, projectIds } = follower.repository;
    const { data } = Delivery.safeParse(body);
    if (data?.repository.full_name.toLowerCase() !== fullName) return "ignored";
    const commits = [data.check_run?.head_sha, data.check_suite?.head_sha, data.deployment?.sha, data.sha];
    const meant = store.followed
      .of(projectIds)
      .filter(
        ({ link, record }) =>
          numberOf(link) === data.pull_request?.number || (record && commits.includes(record.headSha)),
      );
    const pushed = /^refs\/heads\/(?<branch>.+)$/s.exec(data.ref ?? "")?.groups?.["branch"];
    const isBase = pushed !== undefined && store.followed.openBases(projectIds).includes(pushed);
    if (meant.length === 0 && !isBase) return "ignored";
    if (isBase) follower.readBasesNow();
    await queue.commit(() => {
      for (const { jobId } of meant) store.followed.lookNow(jobId, clock.now());
      return { value: undefined, adds: [followTask(follower)] };
    });
    return "taken";
  }

  #of(projectId: string | undefined): RepositoryFollower | undefined {
    return this.#followers.find(({ repository }) => repository.projectIds.some((id) => id === projectId));
  }
}

/** The task that follows a repository's pull requests. Adding it again makes it run now. */
function followTask({ repository: { key } }: RepositoryFollower): NewTask {
  const payload = { repository: key };
  return { id: `follow:${key}`, type: "follow", partition: key, onDuplicate: "latest", payload };
}
