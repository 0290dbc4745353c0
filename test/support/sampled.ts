const nth = Number(process.env["KILL_SAMPLE"] ?? 1);
const today = Math.floor(Date.now() / (24 * 60 * 60_000));

/**
 * True for every nth step, counted from 0, if the environment has `KILL_SAMPLE=n`, and for every
 * step otherwise. The chosen steps change from day to day, so that each gets its turn. `every`
 * makes them fewer by this factor.
 */
export function isSampled(step: number, every = 1): boolean {
  return step % (nth * every) === today % (nth * every);
}

/** True for one in so many steps, whatever `KILL_SAMPLE` is, and for others from day to day. */
export function isOneIn(every: number, step: number): boolean {
  return step % every === today % every;
}

/** Returns the steps that are {@link isSampled}. */
export function sampled<T>(steps: readonly T[]): T[] {
  return steps.filter((_, n) => isSampled(n));
}
