import type { Checkout } from "./checkout.ts";

/** One thing that is measured: its name on the command line, and the rows it gives. */
export type Scenario = {
  name: string;
  /** For `--help`: one line, no full stop. */
  summary: string;
  run(context: Context): Promise<Figure[]>;
};

export type Context = {
  /** The program that is measured. */
  checkout: Checkout;
  /** The earlier version it is compared with; null where the repository's history is not there. */
  baseline: Checkout | null;
  /** An empty folder that is removed when the run ends. */
  dir: string;
  /** Tells whoever waits how far it is. */
  progress: (text: string) => void;
};

/**
 * One row. With two sides the row shows their ratio, round by round: round n of both had the same
 * machine.
 */
export type Figure = {
  what: string;
  unit: Unit;
  measured: Side;
  against?: Side;
  /** The value or ratio to reach, as the table shows it. */
  reach?: string;
};

export type Unit = "per second" | "s" | "ms" | "MB" | "bytes" | "%" | "per turn" | "per job" | "";
export type Side = { name: string; values: number[] };

/** Measures `a` and `b` in turn, `rounds` times, and collects what each gave. */
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

/** Measures all sides in turn, `rounds` times; of each side, what its rounds gave. */
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

/** Something keeps the bench from measuring. The message says what to do. */
export class BenchError extends Error {
  override readonly name = "BenchError";
}

/** Epoch milliseconds with fractions, comparable between the processes of one machine. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
