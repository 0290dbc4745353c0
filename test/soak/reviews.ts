import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";
import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { JobServiceSide } from "../../world/job-service/side.ts";
import { turnOf, turnOfKey } from "./ledger.ts";

/** An event in the life of a pull request. */
export type Review = { do: "review"; what: "changes-requested" | "checks-failed" | "closed" | "approved" };

type Reviewed = Pick<JobServiceSide, "creates" | "messages" | "jobs" | "level" | "follow">;
type Standing = { reviews: Sent<typeof FollowedPullRequest>["reviews"]; failed: string[] };

/**
 * Reviews the pull requests of a round, merges them all in the end, and checks what the threads say
 * about it.
 */
export class Reviews {
  readonly #service: Reviewed;
  readonly #url: string;
  readonly #standings = new Map<string, Standing>();
  #made = 0;

  /** `url` is the address of every pull request of the round. */
  constructor(service: Reviewed, url: string) {
    this.#service = service;
    this.#url = url;
  }

  get made(): number {
    return this.#made;
  }

  /** Has somebody review one of the pull requests, if the service can report it. */
  take({ what }: Review): void {
    const ids = this.#ids();
    const id = ids[this.#made % ids.length];
    if (id === undefined) return;
    this.#made += 1;
    const standing = this.#standings.get(id) ?? { reviews: [], failed: [] };
    this.#standings.set(id, standing);
    if (what === "checks-failed") standing.failed = [`check-${this.#made}`];
    if (what === "changes-requested" || what === "approved") {
      const review = { id: `r${this.#made}`, author: "maria", state: what, at: new Date().toISOString() };
      standing.reviews.push({ ...review, words: `See [review-${this.#made}].`, headSha: null });
    }
    this.#show(id, what === "closed" ? "closed" : "open", what === "approved" ? "approved" : "none");
  }

  /** Merges everything. Returns false if there is nothing to merge. */
  settle(): boolean {
    const ids = this.#ids();
    for (const id of ids) this.#show(id, "merged", "approved");
    return ids.length > 0;
  }

  /**
   * Finds news that the threads lack, repeat, or tell in the wrong order. Failed checks and a
   * closed pull request may be over before anybody hears of them. `forgotten` holds the turns of
   * which Redis forgot something.
   */
  judge(
    slack: Pick<SlackSide, "visibleText">,
    posts: readonly SlackMessage[],
    forgotten: ReadonlySet<string> = new Set(),
  ): { lost: string[]; doubled: string[] } {
    const jobOf = new Map(
      [...this.#service.creates, ...this.#service.messages].map(({ idempotencyKey, jobId }) => [
        turnOfKey(idempotencyKey ?? ""),
        jobId,
      ]),
    );
    const lost: string[] = [];
    const doubled: string[] = [];
    for (const id of this.#ids()) {
      const ofJob = posts.filter((post) => jobOf.get(turnOf(post)) === id);
      if (ofJob.some((post) => forgotten.has(turnOf(post)))) continue;
      const told = ofJob
        .toSorted((a, b) => Number(a.ts) - Number(b.ts))
        .map((post) => slack.visibleText(post));
      if (!told.some((text) => text.includes("Your pull request is ready"))) continue;
      const wanted = (this.#standings.get(id)?.reviews ?? [])
        .filter(({ state }) => state === "changes-requested")
        .map(({ words }) => words);
      for (const what of [...wanted, "is merged."]) {
        const count = told.filter((text) => text.includes(what)).length;
        // One post quotes five.
        const isCounted = what !== "is merged." && told.some((text) => /… and \d+ more/.test(text));
        if (count === 0 && !isCounted) {
          const all = told.map((text) => JSON.stringify(text)).join(" ");
          lost.push(`"${what}" about the pull request of ${id} was never told. There is: ${all}`);
        }
        if (count > 1) doubled.push(`"${what}" about the pull request of ${id} was told ${count} times`);
      }
      const end = told.findIndex((text) => text.includes("is merged."));
      if (end >= 0 && told.slice(end).some((text) => text.includes("for changes in")))
        doubled.push(`a review of the pull request of ${id} was told after its merge`);
    }
    return { lost, doubled };
  }

  /** Returns the jobs that have a pull request. */
  #ids(): string[] {
    if (this.#service.level === 0) return [];
    return [...this.#service.jobs.values()].filter(({ prLink }) => prLink === this.#url).map(({ id }) => id);
  }

  #show(id: string, state: "open" | "closed" | "merged", review: "none" | "approved"): void {
    const { reviews, failed } = this.#standings.get(id) ?? { reviews: [], failed: [] };
    const isRequested = reviews.at(-1)?.state === "changes-requested";
    this.#service.follow(id, {
      url: this.#url,
      state,
      review: isRequested ? "changes-requested" : review,
      checks: { state: failed.length > 0 ? "failed" : "passed", failed },
      reviews: reviews.slice(-20),
    });
  }
}
