import { Consumer } from "./consumer.js";
import { Lag } from "./lag.js";

export class Client {
  #connection;

  constructor(connection) {
    this.#connection = connection;
  }

  /** Sends one message. Resolves when the broker has it on its disk. */
  async publish(topic, body, { key = null } = {}) {
    await this.#connection.send({ kind: "publish", topic, key, body });
  }

  /**
   * Receives the messages of a topic. Resolves to the consumer once the broker has assigned it.
   *
   * @param {string} topic
   * @param {object} options
   * @param {string} options.group - consumers of one group share the messages
   * @param {(message: Message) => Promise<void>} options.onMessage
   * @param {number} [options.maxInFlight] - messages that are being handled at a time
   * @param {"auto" | "manual"} [options.acknowledge] - "auto": once `onMessage` resolves
   */
  async consume(topic, { group, onMessage, maxInFlight = 16, acknowledge = "auto" }) {
    if (typeof onMessage !== "function") throw new TypeError("onMessage must be a function");
    const consumer = new Consumer(this.#connection, { topic, group, onMessage, maxInFlight, acknowledge });
    await consumer.start();
    return consumer;
  }

  /** How far a group is behind. */
  lag(topic, group) {
    return new Lag(this.#connection, topic, group);
  }

  async close() {
    await this.#connection.close();
  }
}
