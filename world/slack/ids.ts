import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUV";

/** Returns a new id in Slack's form: the prefix letter, then ten capitals and digits. */
export function makeId(prefix: string): string {
  const letters = Array.from(randomBytes(9), (byte) => ALPHABET.charAt(byte % ALPHABET.length));
  return `${prefix}0${letters.join("")}`;
}

/** Returns a new secret for URLs and tickets: 32 hex digits. */
export function makeSecret(): string {
  return randomBytes(16).toString("hex");
}

/**
 * Issues Slack timestamps ("SECONDS.MICROS") from `now()`, in epoch milliseconds. Each is larger
 * than the one before.
 */
export class Timestamps {
  readonly #now: () => number;
  #lastMicros = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  next(): string {
    const micros = Math.max(Math.floor(this.#now()) * 1000, this.#lastMicros + 1);
    this.#lastMicros = micros;
    return `${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, "0")}`;
  }
}
