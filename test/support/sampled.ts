const nth = Number(process.env["KILL_SAMPLE"] ?? 1);
const today = Math.floor(Date.now() / (24 * 60 * 60_000));

/**
 * Every nth step, counted from 0, if the environment has `KILL_SAMPLE=n`, and every step otherwise. Which of them changes from day to day,
 * so that all have their turn. `every`: so many times fewer of them.
 */
export function isSampled(step: number, every = 1): boolean {
  return step % (nth * every) === today % (nth * every);
}

/** Those of the steps that are {@link isSampled}. */
export function sampled<T>(steps: readonly T[]): T[] {
  return steps.filter((_, n) => isSampled(n));
}
