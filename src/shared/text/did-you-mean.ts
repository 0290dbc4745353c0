const LETTERS_PER_MISTAKE = 5;
const MAX_MISTAKES = 3;

/**
 * The known name that `name` most likely misspells, or null. Longer names may have more mistakes,
 * up to three. The first letter must be right.
 */
export function didYouMean(name: string, known: Iterable<string>): string | null {
  const wrong = name.toLowerCase();
  let nearest: string | null = null;
  let fewest = MAX_MISTAKES + 1;
  for (const candidate of known) {
    if (candidate === name) return null;
    const right = candidate.toLowerCase();
    const most = Math.min(fewest - 1, Math.max(1, Math.floor(right.length / LETTERS_PER_MISTAKE)));
    if (right[0] !== wrong[0] || Math.abs(right.length - wrong.length) > most) continue;
    const count = mistakes(wrong, right);
    if (count <= most) [nearest, fewest] = [candidate, count];
  }
  return nearest;
}

/** Counts letters added, left out, replaced, or swapped with the next one. */
function mistakes(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      const isSwap = i > 0 && j > 0 && from[i] === to[j - 1] && from[i - 1] === to[j];
      const swapped = isSwap ? (before[j - 1] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row.at(-1) ?? 0;
}

const LEAST_BEGINNING = 4;

/**
 * The known value that `value` most likely stands for, or null. Beside misspelled ones, it finds
 * longer and shorter forms, such as `warning` for `warn`.
 */
export function meantValue(value: string, known: readonly string[]): string | null {
  const wrong = value.toLowerCase();
  const isForm = (right: string) =>
    right.length >= LEAST_BEGINNING &&
    wrong.length >= LEAST_BEGINNING &&
    (wrong.startsWith(right) || right.startsWith(wrong));
  return didYouMean(value, known) ?? known.find((right) => isForm(right.toLowerCase())) ?? null;
}
