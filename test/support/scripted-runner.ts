import type { Runner, RunTurnInput, RunTurnResult } from "../../src/service/runner/runner.ts";

/** A run of a turn that goes on until the test ends it or it is aborted. */
export type ScriptedRun = {
  input: RunTurnInput;
  end: (result: RunTurnResult) => void;
  fail: (thrown: Error) => void;
};

/** The agent's summary in these results. */
export const SUMMARY = "Corrected the install page";

/** Returns a result by the name that the job-service suites use. */
export function resultNamed(jobId: string, how: "pull-request" | "no-changes" | "failed"): RunTurnResult {
  switch (how) {
    case "pull-request":
      return {
        kind: "pull-request",
        prLink: `https://git.example/acme/docs/pull/${Number.parseInt(jobId.slice(-4), 16) + 1}`,
        summary: SUMMARY,
        leftOut: [],
      };
    case "no-changes":
      return { kind: "no-changes", summary: null };
    case "failed":
      return { kind: "failed", reason: "the agent ended with exit code 3" };
  }
}

/** A runner whose turns do what the test says. */
export class ScriptedRunner {
  /** All runs so far, the earliest first. */
  readonly runs: ScriptedRun[] = [];
  #looks: Array<() => void> = [];

  readonly runTurn: Runner["run"] = (input) =>
    new Promise((resolve, reject) => {
      if (input.signal.aborted) return reject(new Error("aborted"));
      input.signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      this.runs.push({ input, end: resolve, fail: reject });
      const looks = this.#looks;
      this.#looks = [];
      for (const look of looks) look();
    });

  /** Resolves to the `count`-th run, counted from 1, once it has started. */
  async run(count: number): Promise<ScriptedRun> {
    return await this.#until(() => this.runs[count - 1]);
  }

  /** Resolves to the `count`-th run of a job, counted from 1, once it has started. */
  async runOf(jobId: string, count = 1): Promise<ScriptedRun> {
    return await this.#until(() => this.runs.filter(({ input }) => input.jobId === jobId)[count - 1]);
  }

  async #until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#looks.push(resolve);
      });
    }
  }
}
