import { setTimeout as sleep } from "node:timers/promises";
import type { QuestionAnswer } from "../../../shared/contract/question.ts";
import type { Clock } from "../../../shared/machine/ports.ts";
import { REPORT_WITHIN_MS, type ReportAnswer, STOP_BEFORE_END_MS, type LeasedWork } from "../protocol.ts";
import type { AgentQuestion, JobNotes, RunnerReport, RunTurnInput } from "../runner.ts";
import { RunnerRefusedError, type ServiceLink, UnansweredError, WorkLostError } from "./service-link.ts";

/** How often what is new is reported at most, so that a noisy agent gets no more than others. */
const REPORT_EVERY_MS = 200;
/** As many as the service keeps. */
const MAX_LINES = 200;
const MAX_LINE_CHARS = 500;
/** As many questions as the service takes in all. */
const MAX_OPEN = 20;
/** How long an answer is held. It is a sign of life, too. */
const HOLD_MS = REPORT_WITHIN_MS - 1_000;
const AGAIN_MS = 500;

type Options = { link: ServiceLink; clock: Clock; work: LeasedWork; ending: AbortSignal };
type Asked = { question: number; asked: AgentQuestion; answer: (answer: QuestionAnswer | null) => void };

/**
 * A piece of work as its runner has it. Reports what is new, hears what the service has to say, and
 * keeps the lease. Once that can't be kept, `signal` aborts, a while before the lease ends.
 */
export class HeldWork implements Disposable {
  readonly #options: Options;
  readonly #over = new AbortController();
  readonly #stop = new AbortController();
  readonly #asked = new Map<number, Asked>();
  /** Aborts when the service says so, the lease can't be kept, or the runner ends. */
  readonly signal: AbortSignal;
  #waiting: RunnerReport = {};
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  #reports = 0;
  #questions = 0;
  #cancelStop = () => {};
  #isLost = false;
  #isFinished = false;
  #isQuestionNew = false;

  constructor(options: Options) {
    this.#options = options;
    this.signal = AbortSignal.any([this.#stop.signal, options.ending]);
    const { work, clock } = options;
    this.#keepFor(work.leaseMs, clock.monotonicMs());
    void this.#listen();
  }

  /** True if the work is somebody else's now. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Stops the work, because it isn't ours anymore. */
  lose(): void {
    this.#isLost = true;
    this.#stop.abort(new WorkLostError());
  }

  readonly report: RunTurnInput["report"] = (report) => {
    const lines = (report.lines ?? []).map((line) => line.slice(0, MAX_LINE_CHARS));
    const all = [...(this.#waiting.lines ?? []), ...lines].slice(-MAX_LINES);
    this.#waiting = { ...this.#waiting, ...report, ...(all.length > 0 && { lines: all }) };
    // The next step may be the end of this process.
    const { agentRuns, branch, pushed, isRound } = report;
    const isUrgent = [agentRuns, branch, pushed, isRound].some((each) => each !== undefined);
    if (isUrgent) this.#send();
    else if (this.#sending === null) this.#timer ??= setTimeout(() => this.#send(), REPORT_EVERY_MS);
  };

  readonly ask: RunTurnInput["ask"] = async (asked) => {
    if (this.#asked.size >= MAX_OPEN) return null;
    const question = (this.#questions += 1);
    const { promise, resolve } = Promise.withResolvers<QuestionAnswer | null>();
    this.#asked.set(question, { question, asked, answer: resolve });
    const giveUp = () => resolve(null);
    this.signal.addEventListener("abort", giveUp, { once: true });
    this.#isQuestionNew = true;
    this.#send();
    try {
      return await promise;
    } finally {
      this.#asked.delete(question);
      this.signal.removeEventListener("abort", giveUp);
    }
  };

  /** Notes that are written only as long as the work is ours. */
  guarded(notes: JobNotes): JobNotes {
    const loseIfLost = (thrown: unknown): never => {
      if (thrown instanceof WorkLostError) this.lose();
      throw thrown;
    };
    return {
      read: (kind) => notes.read(kind).catch(loseIfLost),
      write: (kind, text) => notes.write(kind, text).catch(loseIfLost),
    };
  }

  /**
   * Call this when the work is done. Resolves when everything was reported, or can't be. From now
   * on only the answer to its result says if it was lost.
   */
  async finish(): Promise<void> {
    this.#isFinished = true;
    while (!this.#isDone && !this.#isEmpty) {
      this.#send();
      await this.#sending;
    }
    await this.#sending;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#cancelStop();
    this.#over.abort();
  }

  get #isDone(): boolean {
    return this.#over.signal.aborted || this.#isLost || this.#options.ending.aborted;
  }

  get #isEmpty(): boolean {
    return Object.keys(this.#waiting).length === 0;
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isDone || this.#sending !== null) return;
    const report = this.#waiting;
    this.#waiting = {};
    this.#isQuestionNew = false;
    const number = (this.#reports += 1);
    this.#sending = this.#tell(number, report, 0).finally(() => {
      this.#sending = null;
      if (this.#isQuestionNew) this.#send();
      else if (!this.#isEmpty) this.report({});
    });
  }

  /** Hears what there is to say, as long as the work goes on. */
  async #listen(): Promise<void> {
    while (!this.#isDone) {
      await this.#tell(0, {}, this.#stop.signal.aborted ? 0 : HOLD_MS);
      // A turn that was told to stop needs to hear nothing more, but keeps its lease.
      if (this.signal.aborted && !this.#isDone)
        await sleep(HOLD_MS, undefined, { signal: this.#over.signal }).catch(() => {});
    }
  }

  /** Reports, again and again until it is answered. Never rejects. */
  async #tell(number: number, report: RunnerReport, waitMs: number): Promise<void> {
    const { link, work, clock, ending } = this.#options;
    const signal = AbortSignal.any([this.#over.signal, ending]);
    while (!this.#isDone) {
      const sentMs = clock.monotonicMs();
      const questions = this.#asked.values().map(({ question, asked }) => ({ question, asked }));
      try {
        const request = { number, report, questions: [...questions], waitMs };
        return this.#hear(await link.report(work, request, signal), sentMs);
      } catch (thrown) {
        if (thrown instanceof WorkLostError) return this.#isFinished ? this.#over.abort() : this.lose();
        // It isn't understood, so it wouldn't be the next time either.
        const isLater = thrown instanceof UnansweredError || thrown instanceof RunnerRefusedError;
        if (!isLater && !signal.aborted) return this.#stop.abort(thrown);
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  #hear({ isAborted, answers, leaseMs }: ReportAnswer, sentMs: number): void {
    this.#keepFor(leaseMs, sentMs);
    for (const { question, answer } of answers) this.#asked.get(question)?.answer(answer);
    if (isAborted && !this.#stop.signal.aborted) this.#stop.abort(new Error("The run was aborted"));
  }

  /** The lease lasts at least this long from when the report was sent. */
  #keepFor(leaseMs: number | null, sinceMs: number): void {
    this.#cancelStop();
    if (leaseMs === null) return;
    const { clock } = this.#options;
    const leftMs = sinceMs + leaseMs - STOP_BEFORE_END_MS - clock.monotonicMs();
    this.#cancelStop = clock.wakeAt(clock.now() + leftMs, () => this.lose());
  }
}
