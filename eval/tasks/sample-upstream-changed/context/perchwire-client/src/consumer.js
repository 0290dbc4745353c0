const REDELIVERIES = 5;

/** A member of a group of consumers. */
export class Consumer {
  #connection;
  #options;
  #inFlight = new Set();

  constructor(connection, options) {
    this.#connection = connection;
    this.#options = options;
  }

  async start() {
    const { topic, group, maxInFlight } = this.#options;
    await this.#connection.send({ kind: "assign", topic, group, credit: maxInFlight });
    this.#connection.onFrame("message", (frame) => void this.#handle(frame));
  }

  /** Takes no more messages, and resolves when those that are in flight are handled. */
  async stop() {
    await this.#connection.send({ kind: "release" });
    await Promise.all(this.#inFlight);
  }

  async #handle(frame) {
    const message = {
      ...frame,
      ack: () => this.#connection.send({ kind: "ack", offset: frame.offset }),
      reject: () => this.#connection.send({ kind: "reject", offset: frame.offset, max: REDELIVERIES }),
    };
    const work = this.#options.onMessage(message);
    this.#inFlight.add(work);
    try {
      await work;
      if (this.#options.acknowledge === "auto") await message.ack();
    } catch {
      await message.reject();
    } finally {
      this.#inFlight.delete(work);
    }
  }
}
