import type { Clock } from "../../core/clock.ts";

/** Proxies close connections on which nothing is said, some after half a minute. */
const HEARTBEAT_EVERY_MS = 15_000;
/** After this a listener has to come again, with a key that is still good. */
export const MAX_LISTEN_MS = 15 * 60_000;
/** Time a client has to read what is left once its stream ends. */
const END_GRACE_MS = 10_000;

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(": heartbeat\n\n");

/** One client's stream of server-sent events. Holds at most one event that is not read yet: the latest. */
export class JobListener {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #clock: Clock;
  readonly #left: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  /** Set while the client can take more. */
  #wanted: (() => void) | null = null;
  #next: Uint8Array<ArrayBuffer> | null = null;
  #isEnding = false;
  #hasLeft = false;
  readonly #cancels: (() => void)[] = [];

  /** `left` is called once, when the stream is over or the client has gone. */
  constructor(clock: Clock, left: () => void) {
    this.#clock = clock;
    this.#left = left;
    this.stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () =>
          new Promise((resolve) => {
            this.#wanted = resolve;
            this.#pass();
          }),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 0 },
    );
    this.#cancels.push(clock.wakeAt(clock.now() + MAX_LISTEN_MS, () => this.end()));
    this.#beatLater();
  }

  /** Tells the client the job's state, in place of one that it has not read yet. */
  tell(data: string): void {
    this.#next = encoder.encode(`event: job\ndata: ${data}\n\n`);
    this.#pass();
  }

  /** Ends the stream once the client has read what is left, or soon if it doesn't read. */
  end(): void {
    if (this.#isEnding || this.#hasLeft) return;
    this.#isEnding = true;
    this.#pass();
    if (this.#hasLeft) return;
    this.#cancels.push(
      this.#clock.wakeAt(this.#clock.now() + END_GRACE_MS, () => {
        this.#controller?.error(new Error("The client does not read"));
        this.#leave();
      }),
    );
  }

  #pass(): void {
    if (this.#wanted === null || this.#hasLeft) return;
    if (this.#next !== null) {
      this.#controller?.enqueue(this.#next);
      this.#next = null;
    } else if (this.#isEnding) {
      this.#controller?.close();
      this.#leave();
    } else return;
    const resolve = this.#wanted;
    this.#wanted = null;
    resolve?.();
  }

  #beatLater(): void {
    this.#cancels[1] = this.#clock.wakeAt(this.#clock.now() + HEARTBEAT_EVERY_MS, () => {
      this.#next ??= HEARTBEAT;
      this.#pass();
      this.#beatLater();
    });
  }

  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    for (const cancel of this.#cancels) cancel();
    this.#left();
  }
}
