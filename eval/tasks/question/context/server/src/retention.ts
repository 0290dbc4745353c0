/** Versions of files, in days. */
export const VERSION_DAYS = 30;

/** What is deleted, in days, where a team chose nothing else. */
export const TRASH_DAYS = 45;

const TRASH_BOUNDS = { min: 7, max: 180 } as const;

/** Rounds what an owner typed to what we allow. */
export function trashDays(chosen: number | null): number {
  if (chosen === null) return TRASH_DAYS;
  return Math.min(TRASH_BOUNDS.max, Math.max(TRASH_BOUNDS.min, Math.round(chosen)));
}
