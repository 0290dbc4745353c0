import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, StartError } from "../../../shared/errors.ts";
import type { Logger } from "../../../shared/machine/ports.ts";
import { programFile } from "../../../shared/machine/this-copy.ts";
import { type DoorSettings, FromDoor, type ToDoor } from "./messages.ts";

type WorkMessage = Extract<FromDoor, { work: number }>;

export type DoorProcessDeps = {
  settings: DoorSettings;
  logger: Logger;
  /** How often it is asked for a sign of life. @default 15 seconds */
  pingEveryMs?: number;
  onMessage: (message: WorkMessage) => void;
  /** Called once, when the process has ended. */
  onEnd: () => void;
};

const PROGRAM = programFile("./main", import.meta.url);
const PING_EVERY_MS = 15_000;
/** How many signs of life in a row it may leave out. */
const MAX_UNANSWERED = 4;
const CLOSE_WITHIN_MS = 5_000;

/** The process of the model door, from its start to its end. It ends with this one. */
export class DoorProcess {
  readonly #process: ChildProcess;
  /** The path of its socket. Rejects with a {@link StartError} if it ended before. */
  readonly listening: Promise<string>;
  #isClosing = false;

  constructor({ settings, logger, pingEveryMs = PING_EVERY_MS, onMessage, onEnd }: DoorProcessDeps) {
    const { promise: listening, resolve, reject } = Promise.withResolvers<string>();
    this.listening = listening;
    listening.catch(() => {});
    const child = fork(PROGRAM, [], {
      // It doesn't need the modules that were preloaded into the service.
      execArgv: [],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#process = child;
    let unanswered = 0;
    const watch = setInterval(() => {
      unanswered += 1;
      if (unanswered > MAX_UNANSWERED) child.kill("SIGKILL");
      else this.tell({ kind: "ping" });
    }, pingEveryMs).unref();
    child.on("message", (received) => {
      unanswered = 0;
      const { data: message } = FromDoor.safeParse(received);
      if (message === undefined) {
        logger.error({}, "the model door sent an invalid message");
        child.kill("SIGKILL");
      } else if (message.kind === "listening") resolve(message.socketPath);
      else if (message.kind === "failed") {
        reject(new StartError(`The model door can't start: ${message.problem}.`));
        child.kill("SIGKILL");
      } else if (message.kind !== "pong") onMessage(message);
    });
    let hasEnded = false;
    const end = (problem: string) => {
      if (hasEnded) return;
      hasEnded = true;
      clearInterval(watch);
      reject(new StartError(`The model door ended: ${problem}.`));
      if (!this.#isClosing) logger.error({ problem }, "the model door ended: the next call starts another");
      onEnd();
    };
    child.on("error", (error) => end(messageOf(error)));
    // Waits until everything that it sent was read.
    child.on("close", (code, signal) => end(signal ?? `exit code ${code}`));
    this.tell({ kind: "start", settings });
  }

  /** If this can't be sent, the process has ended, which is noticed elsewhere. */
  tell(message: ToDoor): void {
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const child = this.#process;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    if (child.connected) child.disconnect();
    await Promise.race([gone, sleep(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    child.kill("SIGKILL");
  }
}
