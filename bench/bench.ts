/** One thing that is measured: a name for `--only`, and the rows it gives. */
export type Bench = {
  name: string;
  /** For `--help`: one line, no full stop. */
  summary: string;
  /** How many times each side is measured, in turn. */
  rounds: number;
  run(context: BenchContext): Promise<Figure[]>;
};

export type BenchContext = {
  rounds: number;
  /** An empty folder that is removed when the run ends. */
  dir: string;
};

/** One row: two sides measured in turn, a value per round each, so that round n of both had the same machine. */
export type Figure = {
  what: string;
  unit: Unit;
  measured: Side;
  against: Side;
};

export type Unit = "per second" | "ms" | "MB";
export type Side = { name: string; values: number[] };

/** Runs `a` and `b` in turn, `rounds` times, and collects what each gave. */
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
