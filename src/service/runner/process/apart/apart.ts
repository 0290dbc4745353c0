import { type ChildProcess, fork } from "node:child_process";
import { addAbortListener } from "node:events";
import { deserialize, serialize } from "node:v8";
import { TransientRunError, TurnFailedError } from "../../../base/run-error.ts";
import type { InputOf, ReaderName, ResultOf } from "./readers.ts";
import { SUBJECTS } from "./subjects.ts";
import { programFile } from "../../../../shared/machine/this-copy.ts";

/** A call of a reader, with its serialized input. `secrets` are the forms that it redacts. */
export type ReaderCall = { name: ReaderName; input: Uint8Array; secrets: readonly string[] };

/** What a reader's process says: once that it is ready, and then the end of each call. */
export type Reply =
  | { kind: "ready" }
  | { kind: "read"; result: Uint8Array }
  /** Longer or deeper than anything can be. */
  | { kind: "too-much"; why: string }
  /** A mistake in our code. */
  | { kind: "failed"; why: string };

type Ending =
  | Exclude<Reply, { kind: "ready" }>
  | { kind: "late" | "aborted" }
  | { kind: "gone"; why: string };

/** Reads what others wrote, for one turn. */
export interface Apart {
  /**
   * Calls the reader in another process. Calls of one turn are carried out one after the other.
   * Rejects with a `TurnFailedError` if it takes too much time or memory, and with the signal's
   * reason if the turn is aborted.
   */
  read<Name extends ReaderName>(name: Name, input: InputOf<Name>): Promise<ResultOf<Name>>;
}

export type ApartOptions = {
  /** For one call, once its process has started. @default half a minute */
  timeLimitMs?: number;
  /** Of a process's heap, which holds an input and all that is made of it. @default 512 */
  heapMegabytes?: number;
  /** How many calls of all turns are carried out at once. @default 4 */
  processes?: number;
};

const PROGRAM = programFile("./reader-process", import.meta.url);
/** More than all files that a turn may change, with what they were before. */
const MAX_INPUT_BYTES = 96 * 1024 ** 2;
/** On a machine that has much else to do. */
const START_WITHIN_MS = 60_000;
/** How many processes one project leaves to others. */
const LEFT_TO_OTHERS = 2;
/** A process that isn't needed for so long ends. */
const IDLE_MS = 60_000;

type Reader = { child: ChildProcess; isReady: boolean; idle: NodeJS.Timeout | undefined };
type Turn = { project: string };
type Waiting = { turn: Turn; go: () => void };

/**
 * Carries out readers in processes of their own. Text can be made so that it takes minutes or
 * gigabytes to read, and threads don't bound that: Node.js can't end one in the middle of a native
 * function, and it ends the whole process if one thread's heap has no room for a large array.
 *
 * A process carries out one call at a time. It is started when it is needed, is kept a while for
 * the next call, and ends with this process. A turn has one call under way at most, and the turns
 * and diffs of one project leave two of the processes to others, however slow their calls are.
 */
export class ReaderProcesses {
  readonly #timeLimitMs: number;
  readonly #heapMegabytes: number;
  readonly #atOnce: number;
  readonly #ofProject: number;
  readonly #busyTurns = new Set<Turn>();
  readonly #all = new Set<Reader>();
  #waiting: Waiting[] = [];
  #isClosed = false;
  /** A process that is busy would notice only after a while that this one is gone. */
  readonly #onExit = () => this.close();

  constructor({ timeLimitMs = 30_000, heapMegabytes = 512, processes = 4 }: ApartOptions = {}) {
    this.#timeLimitMs = timeLimitMs;
    this.#heapMegabytes = heapMegabytes;
    this.#atOnce = processes;
    this.#ofProject = Math.max(1, processes - LEFT_TO_OTHERS);
    process.on("exit", this.#onExit);
  }

  /**
   * Reads for a turn or a diff of a project. `secrets` are the forms of what is redacted, as they
   * are at each call.
   */
  forTurn(project: string, signal: AbortSignal, secrets: () => readonly string[]): Apart {
    const turn = { project };
    return { read: (name, input) => this.#read(turn, signal, name, input, secrets()) };
  }

  /** The ids of the processes that are there. */
  get pids(): number[] {
    return [...this.#all].flatMap(({ child: { pid } }) => pid ?? []);
  }

  /** Ends all processes. What they were asked is lost. */
  close(): void {
    this.#isClosed = true;
    process.off("exit", this.#onExit);
    for (const reader of this.#all) this.#end(reader);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #read<Name extends ReaderName>(
    turn: Turn,
    signal: AbortSignal,
    name: Name,
    input: InputOf<Name>,
    secrets: readonly string[],
  ): Promise<ResultOf<Name>> {
    await this.#turnIn(turn, signal);
    try {
      const bytes = serialize(input);
      if (bytes.length > MAX_INPUT_BYTES) throw tooMuch(name, "too large", `${bytes.length} bytes of input`);
      const call = { name, input: bytes, secrets };
      let ending = await this.#carryOut(call, signal);
      // Somebody may have ended the process. Only what ends a second one is too large.
      if (ending.kind === "gone") ending = await this.#carryOut(call, signal);
      switch (ending.kind) {
        case "read":
          return deserialize(ending.result);
        case "aborted":
          throw signal.reason;
        case "late":
          throw tooMuch(name, "too slow", `${name} was ended after ${this.#timeLimitMs} ms`);
        case "too-much":
        case "gone":
          throw tooMuch(name, "too large", `${name}: ${ending.why}`);
        case "failed":
          throw new Error(`${name} failed: ${ending.why}`);
      }
    } finally {
      this.#busyTurns.delete(turn);
      this.#letIn();
    }
  }

  /** Resolves when it is this call's turn. */
  async #turnIn(turn: Turn, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { turn, go: resolve };
    this.#waiting.push(waiting);
    using _ = addAbortListener(signal, () => {
      if (!this.#waiting.includes(waiting)) return;
      this.#waiting = this.#waiting.filter((each) => each !== waiting);
      reject(signal.reason);
    });
    this.#letIn();
    await promise;
  }

  #letIn(): void {
    while (this.#busyTurns.size < this.#atOnce) {
      const next = this.#waiting.find(({ turn }) => this.#hasRoomFor(turn));
      if (next === undefined) return;
      this.#waiting = this.#waiting.filter((each) => each !== next);
      this.#busyTurns.add(next.turn);
      next.go();
    }
  }

  #hasRoomFor(turn: Turn): boolean {
    if (this.#busyTurns.has(turn)) return false;
    const ofProject = [...this.#busyTurns].filter(({ project }) => project === turn.project);
    return ofProject.length < this.#ofProject;
  }

  /** Rejects with a `TransientRunError` if no process can be started, or none may be anymore. */
  async #carryOut(call: ReaderCall, signal: AbortSignal): Promise<Ending> {
    signal.throwIfAborted();
    if (this.#isClosed) throw brokeOff("The readers were closed");
    const reader = this.#take();
    const { child } = reader;
    const { promise, resolve } = Promise.withResolvers<Ending>();
    const gone = (why: string) => resolve({ kind: "gone", why });
    const onExit = (code: number | null, by: string | null) => gone(`its process ended (${by ?? code})`);
    const onError = ({ message }: Error) => gone(message);
    let timer: NodeJS.Timeout | undefined;
    const limitTime = () => {
      clearTimeout(timer);
      timer = setTimeout(
        () => resolve({ kind: "late" }),
        reader.isReady ? this.#timeLimitMs : START_WITHIN_MS,
      );
    };
    const onMessage = (reply: Reply) => {
      if (reply.kind !== "ready") return resolve(reply);
      reader.isReady = true;
      limitTime();
    };
    child.on("message", onMessage).on("exit", onExit).on("error", onError);
    limitTime();
    try {
      using _ = addAbortListener(signal, () => resolve({ kind: "aborted" }));
      // If it can't be sent, the process has ended.
      child.send(call, () => {});
      const ending = await promise;
      if (ending.kind === "read" || ending.kind === "failed") this.#keep(reader);
      else this.#end(reader);
      if (!reader.isReady && (ending.kind === "gone" || ending.kind === "late")) {
        const why = ending.kind === "gone" ? ending.why : `not within ${START_WITHIN_MS} ms`;
        throw brokeOff(`No reader started: ${why}`);
      }
      return ending;
    } finally {
      clearTimeout(timer);
      child.off("message", onMessage).off("exit", onExit).off("error", onError);
    }
  }

  /** A process that is free, or a new one. */
  #take(): Reader {
    const free = [...this.#all].find(({ idle }) => idle !== undefined);
    if (free !== undefined) {
      clearTimeout(free.idle);
      free.idle = undefined;
      free.child.ref();
      free.child.channel?.ref();
      return free;
    }
    const child = fork(PROGRAM, [String(process.pid)], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${this.#heapMegabytes}`],
      // Node.js writes there that it has no memory left.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const reader: Reader = { child, isReady: false, idle: undefined };
    this.#all.add(reader);
    child.once("exit", () => this.#end(reader));
    child.on("error", () => this.#end(reader));
    return reader;
  }

  /** Keeps a process for the next call, without keeping this one from ending. */
  #keep(reader: Reader): void {
    reader.idle = setTimeout(() => this.#end(reader), IDLE_MS).unref();
    reader.child.unref();
    reader.child.channel?.unref();
  }

  #end(reader: Reader): void {
    clearTimeout(reader.idle);
    this.#all.delete(reader);
    reader.child.kill("SIGKILL");
  }
}

function brokeOff(detail: string): TransientRunError {
  return new TransientRunError("The turn broke off.", { details: [detail] });
}

function tooMuch(name: ReaderName, why: "too slow" | "too large", detail: string): TurnFailedError {
  const { what, advice } = SUBJECTS[name];
  const said =
    why === "too slow" ? `${what} took too long to check.` : `${what} can't be checked: too large.`;
  return new TurnFailedError(`${said} ${advice}`, { details: [detail] });
}
