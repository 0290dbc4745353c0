import { addAbortListener } from "node:events";
import { timingSafeEqual } from "node:crypto";
import { within, type Clock, type Logger } from "../../shared/machine/ports.ts";
import { TransientRunError } from "../base/run-error.ts";
import type { ServiceProject } from "../config/config.ts";
import { hashOfToken, newLease } from "./lease.ts";
import {
  CLAIM_MS,
  type ClaimRequest,
  type Order,
  type ReportAnswer,
  type ReportRequest,
  type LeasedWork,
  type WorkResult,
} from "../runner/protocol.ts";
import {
  type JobNotes,
  type NoteKind,
  type Runner,
  RunnerLostError,
  RunnerStoppedError,
  type RunTurnInput,
  type TurnAttachment,
} from "../runner/runner.ts";

export type DeskOptions = {
  clock: Clock;
  logger: Logger;
  /** How long a lease lasts. Null if the runner's process is watched, and not the time. */
  leaseMs: number | null;
  /** How long it may take until the runner gives the first sign of life for new work. */
  takenWithinMs: number;
  /** How long an aborted turn may go on. */
  stopWithinMs: number;
  /**
   * Ends the runner because of a turn that goes on longer. Null if that isn't possible: then the
   * turn is given up.
   */
  onStuck: ((run: number) => void) | null;
};

/** A piece of work until its end. */
type Piece = {
  id: string;
  tokenHash: Buffer;
  run: number;
  project: ServiceProject | null;
  notes: JobNotes | null;
  attachments: readonly TurnAttachment[];
  /** Null for all but turns. */
  turn: Pick<RunTurnInput, "report" | "ask" | "lease"> | null;
  isAborted: boolean;
  /** True if it is somebody else's now. */
  isLost: boolean;
  /** True if its result is there. */
  isEnded: boolean;
  /** True once the runner has given a sign of life for it. */
  isTaken: boolean;
  lastReport: number;
  asked: Set<number>;
  answers: ReportAnswer["answers"];
  /** Called when there is something to tell the runner. */
  news: Set<() => void>;
  end: (result: WorkResult) => void;
  fail: (thrown: unknown) => void;
  cancelDeadline: () => void;
};

/** How long the same result is answered alike. */
const ANSWERED_ALIKE_MS = 60_000;
/** How long a runner that left work untaken gets none. */
const PAUSE_MS = { first: 15_000, max: 10 * 60_000 };

type Poll = { session: string; places: number; give: (work: LeasedWork | null) => void };

/** How a call about a piece of work that isn't the runner's ends. */
export type Lost = "lost";

/**
 * The service's side of one runner. Work that is put here waits until the runner asks for some.
 * Then it is leased to the runner: each report renews the lease, and once that has ended, the work
 * rejects with a {@link RunnerLostError} and all that still comes for it is "lost".
 *
 * If a signal aborts, all but a turn reject at once. A turn rejects when the runner has stopped its
 * agent, because nothing else may use its folders before.
 */
export class RunnerDesk implements Runner {
  readonly #options: DeskOptions;
  readonly #pieces = new Map<string, Piece>();
  #outbox: LeasedWork[] = [];
  readonly #polls = new Set<Poll>();
  #lastRun = 0;
  #reserved = 0;
  /** How often in a row the runner left work untaken, and until when it gets none for it. */
  #missed = { times: 0, untilMs: 0 };
  /** What has ended, and is answered alike for a while. */
  readonly #ended = new Map<string, Buffer>();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** How many more turns the runner could take right now. */
  get freePlaces(): number {
    if (this.#options.clock.monotonicMs() < this.#missed.untilMs) return 0;
    const places = Math.max(0, ...this.#polls.values().map((poll) => poll.places));
    return Math.max(0, places - this.#reserved);
  }

  /** How many pieces of work are under way or wait here. */
  get size(): number {
    return this.#pieces.size;
  }

  /** How many of the places are taken. */
  get reserved(): number {
    return this.#reserved;
  }

  has(id: string): boolean {
    return this.#pieces.has(id) || this.#ended.has(id);
  }

  /** True if another process of the runner waits for work. */
  isAskedByAnother(session: string): boolean {
    return this.#polls.values().some((poll) => poll.session !== session);
  }

  /** The project that a piece of work is about. Null if it is about several, or isn't here. */
  projectOf(id: string): ServiceProject | null {
    return this.#pieces.get(id)?.project ?? null;
  }

  readonly run: Runner["run"] = ({ signal, report, ask, notes, lease, attachments, ...turn }) => {
    const sent = attachments.map(({ path: _, ...attachment }) => attachment);
    const order = { kind: "turn" as const, turn: { ...turn, attachments: sent } };
    return this.#carryOut(order, { signal, notes, attachments, turn: { report, ask, lease } }, (result) =>
      result.kind === "turn" ? { value: result.result } : null,
    );
  };

  readonly readDiff: Runner["readDiff"] = ({ signal, notes, ...of }) =>
    this.#carryOut({ kind: "diff", of }, { signal, notes: writing(notes, []) }, (result) =>
      result.kind === "diff" ? { value: result.diff } : null,
    );

  readonly closePull: Runner["closePull"] = ({ signal, notes, ...of }) =>
    this.#carryOut({ kind: "close", of }, { signal, notes: writing(notes, ["closed"]) }, (result) =>
      result.kind === "close" ? { value: result.became } : null,
    );

  readonly upkeep: Runner["upkeep"] = ({ projects, unfinished, signal }) =>
    this.#carryOut<void>({ kind: "upkeep", projects, unfinished: [...unfinished] }, { signal }, (result) =>
      result.kind === "upkeep" ? { value: undefined } : null,
    );

  /**
   * Resolves to the next piece of work, or to null if there is none for a while or the signal
   * aborts. `onPlaces` is called once the runner's places count.
   */
  async claim(
    { session, places }: Pick<ClaimRequest, "session" | "places">,
    signal: AbortSignal,
    onPlaces: () => void,
  ): Promise<LeasedWork | null> {
    // A runner has one question for work. Those before have no way back anymore.
    this.endPolls();
    const waiting = this.#next();
    if (waiting !== null) return waiting;
    const { promise, resolve } = Promise.withResolvers<LeasedWork | null>();
    const poll: Poll = { session, places, give: resolve };
    const giveUp = () => {
      // At once, so that nobody gives it work anymore.
      this.#polls.delete(poll);
      resolve(null);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    this.#polls.add(poll);
    try {
      onPlaces();
      return await within(this.#options.clock, CLAIM_MS, promise, null);
    } finally {
      this.#polls.delete(poll);
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** All that wait for work get none. */
  endPolls(): void {
    const all = [...this.#polls];
    this.#polls.clear();
    for (const { give } of all) give(null);
  }

  /** Puts work back whose way to the runner has ended. */
  putBack(work: LeasedWork): void {
    if (this.#pieces.has(work.id)) this.#put(work);
  }

  /** Keeps a place for a turn. The returned function gives it back. */
  reserve(): () => void {
    this.#reserved += 1;
    return () => {
      this.#reserved -= 1;
    };
  }

  /** Takes a report, and answers when there is something to tell or the time is over. */
  async report(id: string, token: string, request: ReportRequest): Promise<ReportAnswer | Lost> {
    const piece = this.#held(id, token);
    if (piece === null) return "lost";
    piece.isTaken = true;
    this.#missed = { times: 0, untilMs: 0 };
    this.#renew(piece);
    this.#take(piece, request);
    if (request.waitMs > 0 && !piece.isAborted && piece.answers.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      piece.news.add(resolve);
      await within(this.#options.clock, request.waitMs, promise, undefined);
      piece.news.delete(resolve);
      if (piece.isLost) return "lost";
      this.#renew(piece);
    }
    const { isAborted, answers } = piece;
    return { isAborted, answers, leaseMs: this.#options.leaseMs };
  }

  /**
   * Takes what came of a piece of work. Resolves to true once that is written down, and to false if
   * it can't be now.
   */
  async result(id: string, token: string, result: WorkResult): Promise<boolean | Lost> {
    const endedWith = this.#ended.get(id);
    if (endedWith !== undefined) return timingSafeEqual(endedWith, hashOfToken(token)) ? true : "lost";
    const piece = this.#held(id, token);
    if (piece === null) return "lost";
    piece.end(result);
    return (await piece.turn?.lease.written) ?? true;
  }

  /** What is noted of the job that a piece of work is about. */
  notesOf(id: string, token: string): JobNotes | null | Lost {
    const piece = this.#held(id, token);
    return piece === null ? "lost" : piece.notes;
  }

  /** An attachment of a turn, by its place. */
  attachmentOf(id: string, token: string, place: number): TurnAttachment | null | Lost {
    const piece = this.#held(id, token);
    return piece === null ? "lost" : (piece.attachments[place] ?? null);
  }

  /**
   * Leaves a turn to the runner, because the service stops. The runner hears nothing more from here.
   */
  leave(id: string): void {
    const piece = this.#pieces.get(id);
    if (piece === undefined) return;
    piece.cancelDeadline();
    piece.isEnded = true;
    this.#pieces.delete(id);
  }

  /** Rejects everything that the runner has, because it is gone. `cause` is the run to blame. */
  lose(cause: number | null): void {
    for (const piece of this.#pieces.values()) {
      const by = cause === null ? null : cause === piece.run ? "this-turn" : "another-turn";
      piece.fail(new RunnerLostError(by));
    }
  }

  async #carryOut<Result>(
    order: Order,
    given: {
      signal: AbortSignal;
      notes?: JobNotes;
      attachments?: readonly TurnAttachment[];
      turn?: NonNullable<Piece["turn"]>;
    },
    valueOf: (result: Exclude<WorkResult, { kind: "failed" | "stopped" }>) => { value: Result } | null,
  ): Promise<Result> {
    const { signal, notes = null, attachments = [], turn = null } = given;
    signal.throwIfAborted();
    const run = (this.#lastRun += 1);
    const lease = turn?.lease ?? newLease(`${order.kind}.${run}`);
    const { id, token } = lease;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const piece: Piece = {
      ...{ id, tokenHash: lease.tokenHash, run, project: projectIn(order), notes, attachments, turn },
      ...{
        isAborted: false,
        isLost: false,
        isEnded: false,
        isTaken: false,
        lastReport: 0,
        asked: new Set(),
        answers: [],
        news: new Set(),
      },
      end: (result) => {
        piece.isEnded = true;
        piece.cancelDeadline();
        if (result.kind === "failed") {
          const { reason, details, retryAfterMs } = result;
          return reject(new TransientRunError(reason, { details, retryAfterMs }));
        }
        if (result.kind === "stopped") return reject(new RunnerStoppedError());
        const found = valueOf(result);
        if (found !== null) return resolve(found.value);
        const details = ["The runner sent the result of something else."];
        reject(new TransientRunError("The turn broke off.", { details }));
      },
      fail: (thrown) => {
        piece.isLost = !piece.isEnded;
        if (piece.isLost) this.#pieces.delete(id);
        reject(thrown);
      },
      cancelDeadline: () => {},
    };
    this.#pieces.set(id, piece);
    const work = token === null ? null : { ...order, id, token, run, leaseMs: this.#options.leaseMs };
    let cancelStop = () => {};
    using _ = addAbortListener(signal, () => {
      piece.isAborted = true;
      this.#tell(piece);
      if (turn === null || this.#isWaiting(id)) return reject(signal.reason);
      cancelStop = this.#after(this.#options.stopWithinMs, () => {
        const { onStuck } = this.#options;
        if (onStuck === null) piece.fail(signal.reason);
        else onStuck(run);
      });
    });
    if (work === null) this.#renew(piece);
    else this.#put(work);
    try {
      return await promise;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      cancelStop();
      piece.cancelDeadline();
      this.#outbox = this.#outbox.filter((each) => each.id !== id);
      // Until it is written down, the same result is answered alike.
      if (turn === null) this.#close(piece, true);
      else void turn.lease.written.then((isWritten) => this.#close(piece, isWritten));
      this.#tell(piece);
    }
  }

  /** What ended well is answered alike for a while, because the answer may be lost. */
  #close(piece: Piece, isWritten: boolean): void {
    if (this.#pieces.get(piece.id) === piece) this.#pieces.delete(piece.id);
    if (!isWritten || !piece.isEnded || piece.isLost) return;
    this.#ended.set(piece.id, piece.tokenHash);
    this.#after(ANSWERED_ALIKE_MS, () => this.#ended.delete(piece.id));
  }

  #put(work: LeasedWork): void {
    this.#outbox.push(work);
    this.#awaitRunner(work);
    const [poll] = this.#polls;
    if (poll === undefined) return;
    this.#polls.delete(poll);
    poll.give(this.#next());
  }

  #next(): LeasedWork | null {
    const work = this.#outbox.shift() ?? null;
    if (work !== null) this.#awaitRunner(work);
    return work;
  }

  /** A runner that doesn't come for the work, or didn't get it, is as good as none. */
  #awaitRunner(work: LeasedWork): void {
    const { id } = work;
    const piece = this.#pieces.get(id);
    const { takenWithinMs, leaseMs } = this.#options;
    if (piece === undefined) return;
    piece.cancelDeadline();
    piece.cancelDeadline = this.#after(takenWithinMs, () => {
      if (piece.isTaken || piece.isEnded) return;
      // The runner is there, because its process is watched. It knows work that it has already.
      if (leaseMs === null) return void (this.#isWaiting(id) ? this.#awaitRunner(work) : this.#put(work));
      this.#pause();
      // It isn't the turn's fault.
      this.#miss(piece, "another-turn");
    });
  }

  /** A runner that leaves work untaken again and again gets less and less of it. */
  #pause(): void {
    const times = this.#missed.times + 1;
    const forMs = Math.min(PAUSE_MS.first * 2 ** (times - 1), PAUSE_MS.max);
    this.#missed = { times, untilMs: this.#options.clock.monotonicMs() + forMs };
  }

  #isWaiting(id: string): boolean {
    return this.#outbox.some((work) => work.id === id);
  }

  /** Whoever should do it gave no sign of life in time. */
  #miss(piece: Piece, by: RunnerLostError["by"] = null): void {
    this.#options.logger.warn({ work: piece.id }, "a runner gives no sign of life: its work is lost");
    piece.fail(new RunnerLostError(by));
  }

  #renew(piece: Piece): void {
    const { leaseMs, clock } = this.#options;
    if (piece.isEnded || piece.isLost) return;
    piece.cancelDeadline();
    if (leaseMs === null) return;
    piece.turn?.lease.onRenewed(clock.now() + leaseMs);
    piece.cancelDeadline = this.#after(leaseMs, () => this.#miss(piece));
  }

  #after(ms: number, act: () => void): () => void {
    const { clock } = this.#options;
    return clock.wakeAt(clock.now() + ms, act);
  }

  #take(piece: Piece, { number, report, questions }: ReportRequest): void {
    const { turn } = piece;
    if (turn === null) return;
    if (number > piece.lastReport) {
      piece.lastReport = number;
      if (Object.keys(report).length > 0) turn.report(report);
    }
    const open = new Set(questions.map(({ question }) => question));
    // Whoever asks no more has the answer.
    piece.answers = piece.answers.filter(({ question }) => open.has(question));
    for (const { question, asked } of questions) {
      if (piece.asked.has(question)) continue;
      piece.asked.add(question);
      void turn.ask(asked).then((answer) => {
        // Whoever the turn was left to asks again.
        if (piece.isEnded) return;
        piece.answers = [...piece.answers, { question, answer }];
        this.#tell(piece);
      });
    }
  }

  #tell(piece: Piece): void {
    for (const wake of piece.news) wake();
  }

  #held(id: string, token: string): Piece | null {
    const piece = this.#pieces.get(id);
    return piece !== undefined && timingSafeEqual(piece.tokenHash, hashOfToken(token)) ? piece : null;
  }
}

/** Notes of which only these kinds may be written. */
function writing(notes: JobNotes, kinds: readonly NoteKind[]): JobNotes {
  const write: JobNotes["write"] = async (kind, text) => {
    if (!kinds.includes(kind)) throw new TransientRunError("This work may not write such a note.");
    await notes.write(kind, text);
  };
  return { read: notes.read, write };
}

function projectIn(order: Order): ServiceProject | null {
  if (order.kind === "upkeep") return null;
  return (order.kind === "turn" ? order.turn : order.of).project;
}
