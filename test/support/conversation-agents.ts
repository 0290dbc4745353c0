import { PR, reportOfLink } from "./threads.ts";
import { pick, wordsAsked } from "./conversation-ledger.ts";
import type { ConversationLedger } from "./conversation-ledger.ts";
import type { JobServiceSide } from "../../world/job-service/side.ts";

/**
 * Has the agents of a conversation do things. Their words are for people who may read about the
 * job.
 */
export class ConversationAgents {
  readonly #service: JobServiceSide;
  readonly #ledger: ConversationLedger;

  constructor(service: JobServiceSide, ledger: ConversationLedger) {
    this.#service = service;
    this.#ledger = ledger;
  }

  work(which: number): void {
    this.#active(which, (jobId) => this.#service.tell(jobId, { step: `Read ${this.#words(jobId)}` }));
  }

  ask(which: number): void {
    this.#active(which, (jobId) => this.#service.ask(jobId, { text: `Is it ${this.#words(jobId)}?` }));
  }

  finish(which: number, how: number): void {
    this.#active(which, (jobId) => this.#end(jobId, how));
  }

  archive(which: number): void {
    this.#active(which, (jobId) => this.#service.finish(jobId, { status: "archived" }));
  }

  /** Makes the service forget a job, in a few of the cases. */
  forget(which: number, how: number): void {
    if (how % 4 === 0) this.#active(which, (jobId) => this.#service.forget(jobId));
  }

  finishAll(how: number): void {
    for (const { id, status } of this.#service.jobs.values()) if (status === "active") this.#end(id, how);
  }

  #end(jobId: string, how: number): void {
    const url = PR.replace(/7$/, /\d+/.exec(jobId)?.[0] ?? "7");
    const { pullRequest, ...turn } = reportOfLink(`Read ${this.#words(jobId)}`);
    const title = `Correct ${this.#words(jobId)}`;
    switch (how % 3) {
      case 0:
        return this.#service.finish(jobId, { status: "failed" });
      case 1:
        return this.#service.finish(jobId, { status: "completed" });
      default:
        return this.#service.finish(jobId, {
          status: "completed",
          prLink: url,
          turn: { ...turn, pullRequest: { ...pullRequest, url, title } },
        });
    }
  }

  #active(which: number, act: (jobId: string) => void): void {
    const active = [...this.#service.jobs.values()].filter(({ status }) => status === "active");
    const job = pick(active, which);
    if (job !== undefined) act(job.id);
  }

  #words(jobId: string): string {
    const create = this.#service.creates.find((call) => call.jobId === jobId);
    const said = create === undefined ? undefined : this.#ledger.of(wordsAsked(create));
    return this.#ledger.say(null, said?.place ?? null, "nothing");
  }
}
