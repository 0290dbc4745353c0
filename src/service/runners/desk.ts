import { addAbortListener } from "node:events";
import { timingSafeEqual } from "node:crypto";
import { within, type Clock, type Logger } from "../../shared/machine/ports.ts";
import type { ServiceProject } from "../config/config.ts";
import type {
  ClaimRequest,
  LeasedWork,
  Order,
  ReportAnswer,
  ReportRequest,
  WorkResult,
} from "../runner/protocol.ts";
import { type JobNotes, type Runner, RunnerLostError, type TurnAttachment } from "../runner/runner.ts";
import { hashOfToken, newLease } from "./lease.ts";
import { OfferedWork } from "./offered-work.ts";
import { type GivenPiece, notesWriting, Piece, projectIn, valueIn } from "./piece.ts";

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

/** How long the same result is answered alike. */
const ANSWERED_ALIKE_MS = 60_000;

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
  readonly #offered: OfferedWork;
  readonly #pieces = new Map<string, Piece>();
  /** What has ended, and is answered alike for a while. */
  readonly #ended = new Map<string, Buffer>();
  #lastRun = 0;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#offered = new OfferedWork(options.clock, (work) => this.#awaitRunner(work));
  }

  /** The runner's places, and its questions for work. */
  get offered(): Pick<OfferedWork, "freePlaces" | "reserved" | "reserve" | "endPolls" | "isAskedByAnother"> {
    return this.#offered;
  }

  /** How many pieces of work are under way or wait here. */
  get size(): number {
    return this.#pieces.size;
  }

  has(id: string): boolean {
    return this.#pieces.has(id) || this.#ended.has(id);
  }

  /** The project that a piece of work is about. Null if it is about several, or isn't here. */
  projectOf(id: string): ServiceProject | null {
    return this.#pieces.get(id)?.given.project ?? null;
  }

  readonly run: Runner["run"] = ({ signal, report, ask, notes, lease, attachments, ...turn }) => {
    const sent = attachments.map(({ name, mediaType, bytes }) => ({ name, mediaType, bytes }));
    const order = { kind: "turn" as const, turn: { ...turn, attachments: sent } };
    return this.#carryOut(order, { signal, notes, attachments, turn: { report, ask, lease } }, (result) =>
      result.kind === "turn" ? { value: result.result } : null,
    );
  };

  readonly readDiff: Runner["readDiff"] = ({ signal, notes, ...of }) =>
    this.#carryOut({ kind: "diff", of }, { signal, notes: notesWriting(notes, []) }, (result) =>
      result.kind === "diff" ? { value: result.diff } : null,
    );

  readonly closePull: Runner["closePull"] = ({ signal, notes, ...of }) =>
    this.#carryOut({ kind: "close", of }, { signal, notes: notesWriting(notes, ["closed"]) }, (result) =>
      result.kind === "close" ? { value: result.became } : null,
    );

  readonly upkeep: Runner["upkeep"] = ({ projects, unfinished, signal }) =>
    this.#carryOut<void>({ kind: "upkeep", projects, unfinished: [...unfinished] }, { signal }, (result) =>
      result.kind === "upkeep" ? { value: undefined } : null,
    );

  /** See {@link OfferedWork.claim}. */
  async claim(
    claim: Pick<ClaimRequest, "session" | "places">,
    signal: AbortSignal,
    onPlaces: () => void,
  ): Promise<LeasedWork | null> {
    return await this.#offered.claim(claim, signal, onPlaces);
  }

  /** Puts work back whose way to the runner has ended. */
  putBack(work: LeasedWork): void {
    if (this.#pieces.has(work.id)) this.#put(work);
  }

  /** Takes a report, and answers when there is something to tell or the time is over. */
  async report(id: string, token: string, request: ReportRequest): Promise<ReportAnswer | Lost> {
    const piece = this.#held(id, token);
    if (piece === null) return "lost";
    piece.isTaken = true;
    this.#offered.noteTaken();
    this.#renew(piece);
    piece.take(request);
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
    return (await piece.given.turn?.lease.written) ?? true;
  }

  /** What is noted of the job that a piece of work is about. */
  notesOf(id: string, token: string): JobNotes | null | Lost {
    const piece = this.#held(id, token);
    return piece === null ? "lost" : piece.given.notes;
  }

  /** An attachment of a turn, by its place. */
  attachmentOf(id: string, token: string, place: number): TurnAttachment | null | Lost {
    const piece = this.#held(id, token);
    return piece === null ? "lost" : (piece.given.attachments[place] ?? null);
  }

  /** Leaves a turn to its runner, which hears nothing more from here. */
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
      const by = cause === null ? null : cause === piece.given.run ? "this-turn" : "another-turn";
      piece.fail(new RunnerLostError(by));
    }
  }

  async #carryOut<Value>(
    order: Order,
    given: { signal: AbortSignal } & Partial<Pick<GivenPiece, "notes" | "attachments" | "turn">>,
    valueOf: Parameters<typeof valueIn<Value>>[1],
  ): Promise<Value> {
    const { signal, notes = null, attachments = [], turn = null } = given;
    signal.throwIfAborted();
    const run = (this.#lastRun += 1);
    const { id, token, tokenHash } = turn?.lease ?? newLease(`${order.kind}.${run}`);
    const project = projectIn(order);
    const piece = new Piece({ id, tokenHash, run, project, notes, attachments, turn });
    this.#pieces.set(id, piece);
    let cancelStop = () => {};
    using _ = addAbortListener(signal, () => {
      piece.isAborted = true;
      piece.tell();
      if (turn === null || this.#offered.isWaiting(id)) return piece.fail(signal.reason);
      cancelStop = this.#after(this.#options.stopWithinMs, () => {
        const { onStuck } = this.#options;
        if (onStuck === null) piece.fail(signal.reason);
        else onStuck(run);
      });
    });
    // The runner has it already if its lease is known by the hash alone.
    if (token === null) this.#renew(piece);
    else this.#put({ ...order, id, token, run, leaseMs: this.#options.leaseMs });
    try {
      return valueIn(await piece.result, valueOf);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      cancelStop();
      piece.cancelDeadline();
      this.#offered.withdraw(id);
      if (piece.isLost) this.#close(piece, false);
      // Until it is written down, whoever sends the same result waits, too.
      else if (turn === null) this.#close(piece, true);
      else void turn.lease.written.then((isWritten) => this.#close(piece, isWritten));
      piece.tell();
    }
  }

  /** What ended well is answered alike for a while, because the answer may be lost. */
  #close(piece: Piece, isWritten: boolean): void {
    const { id, tokenHash } = piece.given;
    if (this.#pieces.get(id) === piece) this.#pieces.delete(id);
    if (!isWritten || !piece.isEnded) return;
    this.#ended.set(id, tokenHash);
    this.#after(ANSWERED_ALIKE_MS, () => this.#ended.delete(id));
  }

  #put(work: LeasedWork): void {
    this.#awaitRunner(work);
    this.#offered.put(work);
  }

  /** A runner that doesn't come for the work, or didn't get it, is as good as none. */
  #awaitRunner(work: LeasedWork): void {
    const piece = this.#pieces.get(work.id);
    const { takenWithinMs, leaseMs } = this.#options;
    if (piece === undefined) return;
    piece.cancelDeadline();
    piece.cancelDeadline = this.#after(takenWithinMs, () => {
      if (piece.isTaken || piece.isEnded) return;
      if (leaseMs !== null) {
        this.#offered.noteUntaken();
        // It isn't the turn's fault.
        this.#miss(piece, "another-turn");
      } else if (this.#offered.isWaiting(work.id)) this.#awaitRunner(work);
      // The runner is there, because its process is watched. It knows work that it has already.
      else this.#put(work);
    });
  }

  /** Whoever should do it gave no sign of life in time. */
  #miss(piece: Piece, by: RunnerLostError["by"] = null): void {
    const { id } = piece.given;
    this.#options.logger.warn({ work: id }, "a runner gives no sign of life: its work is lost");
    piece.fail(new RunnerLostError(by));
  }

  #renew(piece: Piece): void {
    const { leaseMs, clock } = this.#options;
    if (piece.isEnded || piece.isLost) return;
    piece.cancelDeadline();
    if (leaseMs === null) return;
    piece.given.turn?.lease.onRenewed(clock.now() + leaseMs);
    piece.cancelDeadline = this.#after(leaseMs, () => this.#miss(piece));
  }

  #after(ms: number, act: () => void): () => void {
    const { clock } = this.#options;
    return clock.wakeAt(clock.now() + ms, act);
  }

  #held(id: string, token: string): Piece | null {
    const piece = this.#pieces.get(id);
    if (piece === undefined || piece.isLost) return null;
    return timingSafeEqual(piece.given.tokenHash, hashOfToken(token)) ? piece : null;
  }
}
