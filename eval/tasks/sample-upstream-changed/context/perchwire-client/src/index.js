import { Client } from "./client.js";
import { Connection } from "./connection.js";

/**
 * Connects to a broker. Rejects if it can't be reached within `timeoutMs`.
 *
 * @param {string} url
 * @param {{ token?: string, timeoutMs?: number }} [options]
 */
export async function connect(url, { token, timeoutMs = 5000 } = {}) {
  const connection = new Connection(url, token);
  await connection.open(timeoutMs);
  return new Client(connection);
}

export { PerchwireError } from "./errors.js";
