import type { AgentQuestion, RunnerReport } from "../runner.ts";
import type { LocalRunner } from "../local/local-runner.ts";
import { detailsOf, faultText, TransientRunError } from "../../base/run-error.ts";
import type { FromRunner, ToRunner } from "./messages.ts";
import type { ThreadNote } from "./thread-note.ts";
import type { QuestionAnswer } from "../../../shared/contract/question.ts";

type Tell = (message: FromRunner) => Promise<void>;
type Run = { abort: AbortController; answers: Map<number, (answer: QuestionAnswer | null) => void> };
type Order = Exclude<ToRunner, { kind: "open" | "ping" }>;

const REPORT_EVERY_MS = 200;
/** As many as the service keeps. */
const MAX_LINES = 200;
const MAX_LINE_CHARS = 500;

/** Carries out the service's messages in a runner, and reports back. */
export class OrdersUnderWay {
  readonly #runner: LocalRunner;
  readonly #tell: Tell;
  readonly #thread: ThreadNote;
  readonly #runs = new Map<number, Run>();
  readonly #underWay = new Set<Promise<void>>();

  constructor(runner: LocalRunner, tell: Tell, thread: ThreadNote) {
    this.#runner = runner;
    this.#tell = tell;
    this.#thread = thread;
  }

  take(order: Order): void {
    switch (order.kind) {
      case "start":
        return this.#begin(order.run, (run) => this.#runTurn(order, run));
      case "upkeep":
        return this.#begin(order.run, async ({ abort: { signal } }) => {
          const { run, projects, unfinished } = order;
          await this.#runner.upkeep({ projects, unfinished: new Set(unfinished), signal });
          return { kind: "done", run };
        });
      case "diff":
        return this.#begin(order.run, async ({ abort: { signal } }) => {
          const { run, of } = order;
          return { kind: "diff", run, diff: await this.#runner.readDiff({ ...of, signal }) };
        });
      case "close":
        return this.#begin(order.run, async ({ abort: { signal } }) => {
          const { run, of } = order;
          return { kind: "close", run, became: await this.#runner.closePull({ ...of, signal }) };
        });
      case "abort":
        return this.#runs.get(order.run)?.abort.abort(new Error("The run was aborted"));
      case "answer":
        return this.#runs.get(order.run)?.answers.get(order.question)?.(order.answer);
    }
  }

  /** Aborts everything. Resolves when nothing is running anymore. */
  async end(): Promise<void> {
    for (const { abort } of this.#runs.values()) abort.abort(new Error("The runner ends"));
    await Promise.all(this.#underWay);
    await this.#runner.settled();
  }

  #begin(id: number, act: (run: Run) => Promise<FromRunner>): void {
    const run: Run = { abort: new AbortController(), answers: new Map() };
    this.#runs.set(id, run);
    const over = this.#thread
      .during(id, () => act(run))
      .catch((error: unknown): FromRunner => failed(id, error))
      .then(async (last) => {
        this.#runs.delete(id);
        await this.#tell(last);
        this.#underWay.delete(over);
      });
    this.#underWay.add(over);
  }

  async #runTurn(
    { run: id, turn }: Extract<Order, { kind: "start" }>,
    { abort, answers }: Run,
  ): Promise<FromRunner> {
    const reporter = createReporter(id, this.#tell);
    let asked = 0;
    const ask = async (question: AgentQuestion): Promise<QuestionAnswer | null> => {
      const number = (asked += 1);
      const { promise, resolve } = Promise.withResolvers<QuestionAnswer | null>();
      answers.set(number, resolve);
      reporter.flush();
      void this.#tell({ kind: "ask", run: id, question: number, asked: question });
      return promise.finally(() => answers.delete(number));
    };
    try {
      const result = await this.#runner.run({
        ...turn,
        signal: abort.signal,
        report: (report) => {
          reporter.add(report);
          // The next step may be the end of this process.
          const { agentRuns, branch, pushed, isRound } = report;
          if ([agentRuns, branch, pushed, isRound].some((each) => each !== undefined)) reporter.flush();
        },
        ask,
      });
      return { kind: "result", run: id, result };
    } finally {
      reporter.flush();
    }
  }
}

function failed(run: number, error: unknown): FromRunner {
  const retryAfterMs = error instanceof TransientRunError ? error.retryAfterMs : null;
  return { kind: "failed", run, reason: faultText(error), details: [...detailsOf(error)], retryAfterMs };
}

/**
 * Reports about a run to the service, only from time to time and one report at once. So an agent
 * that floods us with updates gets no more of the service's time than any other.
 */
function createReporter(run: number, tell: Tell) {
  let waiting: RunnerReport = {};
  let timer: NodeJS.Timeout | undefined;
  let isTelling = false;

  function add(report: RunnerReport): void {
    const lines = (report.lines ?? []).map((line) => line.slice(0, MAX_LINE_CHARS));
    const all = [...(waiting.lines ?? []), ...lines].slice(-MAX_LINES);
    waiting = { ...waiting, ...report, ...(all.length > 0 && { lines: all }) };
    if (!isTelling) timer ??= setTimeout(flush, REPORT_EVERY_MS);
  }

  /** Sends what there is to report now. */
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (Object.keys(waiting).length === 0) return;
    const report = waiting;
    waiting = {};
    isTelling = true;
    void tell({ kind: "report", run, report }).then(() => {
      isTelling = false;
      if (Object.keys(waiting).length > 0) add({});
    });
  }

  return { add, flush };
}
