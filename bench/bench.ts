/** One thing that is measured: a name for `--only`, and the rows it gives. */
export type Bench = {
  name: string;
  /** For `--help`: one line, no full stop. */
  summary: string;
  /** How many times each side is measured, in turn, unless the time is up before. */
  rounds: number;
  /** What it may take on a machine that is busy or slow; it then makes do with fewer rounds, at least one. */
  budgetMs: number;
  run(context: BenchContext): Promise<Figure[]>;
};

export type BenchContext = {
  rounds: number;
  /** When its time is up, in the milliseconds of `performance.now()`. */
  endsAtMs: number;
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

/** Measures `a` and `b` in turn, and collects what each gave. Begins no round that would not end in time. */
export async function interleave<A, B>(
  { rounds, endsAtMs }: Pick<BenchContext, "rounds" | "endsAtMs">,
  a: (round: number) => Promise<A>,
  b: (round: number) => Promise<B>,
): Promise<{ a: A[]; b: B[] }> {
  const results: { a: A[]; b: B[] } = { a: [], b: [] };
  let longestMs = 0;
  for (let round = 0; round < rounds; round += 1) {
    const startedAtMs = performance.now();
    if (round > 0 && startedAtMs + longestMs > endsAtMs) break;
    results.a.push(await a(round));
    results.b.push(await b(round));
    longestMs = Math.max(longestMs, performance.now() - startedAtMs);
  }
  return results;
}
