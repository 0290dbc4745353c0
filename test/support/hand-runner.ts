import { randomUUID } from "node:crypto";
import type { ReportRequest, LeasedWork, WorkResult } from "../../src/service/runner/protocol.ts";
import { LEASE_HEADER, PROTOCOL } from "../../src/service/runner/protocol.ts";

type Turn = Extract<LeasedWork, { kind: "turn" }>;
type Options = {
  token: string;
  machine?: string;
  places?: number;
  labels?: string[];
  projects?: string[] | null;
};

/** An answer of the service, read. */
export type Told = { status: number; body: Record<string, unknown> };

/**
 * A runner elsewhere whose every call the test makes itself, so that it can be late, wrong or a
 * thief.
 */
export class HandRunner {
  readonly machine: string;
  readonly #url: () => string;
  readonly #options: Options;
  session: string = randomUUID();
  #reports = 0;

  /** `url` is asked each time, because a service that starts again has another one. */
  constructor(url: () => string, options: Options) {
    this.#url = url;
    this.#options = options;
    this.machine = options.machine ?? randomUUID();
  }

  async call(
    method: string,
    path: string,
    { body, lease, signal }: { body?: unknown; lease?: string; signal?: AbortSignal } = {},
  ): Promise<Told> {
    const answer = await fetch(`${this.#url()}/runner${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#options.token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(lease !== undefined && { [LEASE_HEADER]: lease }),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text.startsWith("{") ? (JSON.parse(text) as Told["body"]) : { text },
    };
  }

  /** Asks for work. */
  ask(changes: object = {}, signal?: AbortSignal): Promise<Told> {
    const { places = 1, labels = [], projects = null } = this.#options;
    const said = { protocol: PROTOCOL, version: "0.0.0", machine: this.machine, session: this.session };
    return this.call("POST", "/claims", {
      body: { ...said, places, labels, projects, ...changes },
      ...(signal !== undefined && { signal }),
    });
  }

  /** Resolves to the next turn. Other work is done with an empty result. */
  async turn(): Promise<Turn> {
    for (;;) {
      const { status, body } = await this.ask();
      if (status !== 200) throw new Error(`refused: ${status} ${JSON.stringify(body)}`);
      const work = body["work"] as LeasedWork | null;
      if (work?.kind === "turn") return work;
      if (work?.kind === "upkeep") await this.end(work, { kind: "upkeep" });
    }
  }

  report(work: Pick<LeasedWork, "id" | "token">, changes: Partial<ReportRequest> = {}): Promise<Told> {
    this.#reports += 1;
    const body = { number: this.#reports, report: {}, questions: [], waitMs: 0, ...changes };
    return this.call("PUT", `/work/${work.id}/report`, { body, lease: work.token });
  }

  end(work: Pick<LeasedWork, "id" | "token">, result: WorkResult): Promise<Told> {
    return this.call("PUT", `/work/${work.id}/result`, { body: result, lease: work.token });
  }
}
