/** Tells how many messages a group hasn't handled yet. */
export class Lag {
  #connection;
  #query;

  constructor(connection, topic, group) {
    this.#connection = connection;
    this.#query = { topic, group };
  }

  /** Calls `listener` with the count, every ten seconds. */
  subscribe(listener) {
    void this.#connection.send({ kind: "lag", everyMs: 10_000, ...this.#query });
    this.#connection.onFrame("lag", ({ count }) => listener(count));
  }
}
