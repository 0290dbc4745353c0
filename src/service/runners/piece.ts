import { TransientRunError } from "../base/run-error.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Order, ReportAnswer, ReportRequest, WorkResult } from "../runner/protocol.ts";
import {
  type JobNotes,
  type NoteKind,
  RunnerStoppedError,
  type RunTurnInput,
  type TurnAttachment,
} from "../runner/runner.ts";

/** What somebody gives along with an order. `turn` is null for all but turns. */
export type GivenPiece = {
  id: string;
  tokenHash: Buffer;
  run: number;
  project: ServiceProject | null;
  notes: JobNotes | null;
  attachments: readonly TurnAttachment[];
  turn: Pick<RunTurnInput, "report" | "ask" | "lease"> | null;
};

/** A piece of work that a runner has, or is about to get, until its end. */
export class Piece {
  readonly given: GivenPiece;
  isAborted = false;
  /** True if it is somebody else's now. */
  isLost = false;
  /** True if its result is there, or it was left to the runner. */
  isEnded = false;
  /** True once the runner has given a sign of life for it. */
  isTaken = false;
  /** The agent's questions that were answered, as long as the runner hasn't heard that. */
  answers: ReportAnswer["answers"] = [];
  /** Called when there is something to tell the runner. */
  readonly news = new Set<() => void>();
  cancelDeadline = () => {};
  readonly #result = Promise.withResolvers<WorkResult>();
  readonly #asked = new Set<number>();
  #lastReport = 0;

  constructor(given: GivenPiece) {
    this.given = given;
  }

  /** What came of it. Rejects if it was lost or given up. */
  get result(): Promise<WorkResult> {
    return this.#result.promise;
  }

  /** Takes the result. Only the first one counts. */
  end(result: WorkResult): void {
    this.isEnded = true;
    this.cancelDeadline();
    this.#result.resolve(result);
  }

  /** Gives it up, unless its result is there. */
  fail(thrown: unknown): void {
    if (this.isEnded) return;
    this.isLost = true;
    this.#result.reject(thrown);
  }

  /** Takes what a runner reports. A repetition changes nothing. */
  take({ number, report, questions }: ReportRequest): void {
    const { turn } = this.given;
    if (turn === null) return;
    if (number > this.#lastReport) {
      this.#lastReport = number;
      if (Object.keys(report).length > 0) turn.report(report);
    }
    const open = new Set(questions.map(({ question }) => question));
    // Whoever asks no more has the answer.
    this.answers = this.answers.filter(({ question }) => open.has(question));
    for (const { question, asked } of questions) {
      if (this.#asked.has(question)) continue;
      this.#asked.add(question);
      void turn.ask(asked).then((answer) => {
        // Whoever the turn was left to asks again.
        if (this.isEnded) return;
        this.answers = [...this.answers, { question, answer }];
        this.tell();
      });
    }
  }

  /** Answers reports that are held. */
  tell(): void {
    for (const wake of this.news) wake();
  }
}

/** The value of a result. Throws what the runner says instead, or if it is of another kind. */
export function valueIn<Value>(
  result: WorkResult,
  valueOf: (result: Exclude<WorkResult, { kind: "failed" | "stopped" }>) => { value: Value } | null,
): Value {
  if (result.kind === "stopped") throw new RunnerStoppedError();
  if (result.kind === "failed") {
    const { reason, details, retryAfterMs } = result;
    throw new TransientRunError(reason, { details, retryAfterMs });
  }
  const found = valueOf(result);
  if (found !== null) return found.value;
  throw new TransientRunError("The turn broke off.", {
    details: ["The runner sent the result of something else."],
  });
}

/** Notes of which only these kinds may be written. */
export function notesWriting(notes: JobNotes, kinds: readonly NoteKind[]): JobNotes {
  const write: JobNotes["write"] = async (kind, text) => {
    if (!kinds.includes(kind)) throw new TransientRunError("This work may not write such a note.");
    await notes.write(kind, text);
  };
  return { read: notes.read, write };
}

/** The project that an order is about. Null if it is about several. */
export function projectIn(order: Order): ServiceProject | null {
  if (order.kind === "upkeep") return null;
  return (order.kind === "turn" ? order.turn : order.of).project;
}
