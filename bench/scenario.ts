import type { Checkout } from "./checkout.ts";

/** A measurement: its name on the command line, and the rows that it makes. */
export type Scenario = {
  name: string;
  /** One line for `--help`, without a full stop. */
  summary: string;
  run(context: Context): Promise<Figure[]>;
};

/** The input of a scenario's run. */
export type Context = {
  /** The program to measure. */
  checkout: Checkout;
  /** The earlier version to compare it with, or null if it isn't in the repository's history. */
  baseline: Checkout | null;
  /** An empty folder, which is removed when the run ends. */
  dir: string;
  /** Tells the person who waits how far the scenario is. */
  progress: (text: string) => void;
};

/**
 * One row of the table. With two sides the row shows their ratio, round by round, because both
 * sides of a round ran on the machine in the same state.
 */
export type Figure = {
  what: string;
  unit: Unit;
  measured: Side;
  against?: Side;
  /** The value or ratio to reach, as the table shows it. */
  reach?: string;
};

/** The unit of a row. */
export type Unit = "per second" | "s" | "ms" | "MB" | "bytes" | "%" | "per turn" | "per job" | "";
/** One of the things that a row compares, with a value for each round. */
export type Side = { name: string; values: number[] };

/** Measures `a` and `b` in turn, `rounds` times, and collects the results of each. */
export async function interleave<A, B>(
  rounds: number,
  a: (round: number) => Promise<A>,
  b: (round: number) => Promise<B>,
): Promise<{ a: A[]; b: B[] }> {
  const results: { a: A[]; b: B[] } = { a: [], b: [] };
  for (let round = 0; round < rounds; round += 1) {
    results.a.push(await a(round));
    results.b.push(await b(round));
  }
  return results;
}

/** Measures all sides in turn, `rounds` times, and collects the results of each. */
export async function inTurn<T>(
  rounds: number,
  sides: readonly ((round: number) => Promise<T>)[],
): Promise<T[][]> {
  const results: T[][] = sides.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, side] of sides.entries()) results[index]?.push(await side(round));
  }
  return results;
}

/** The bench can't measure. The message says what to do. */
export class BenchError extends Error {
  override readonly name = "BenchError";
}
