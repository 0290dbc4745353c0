import { trashDays } from "./retention.ts";

const DAY_MS = 86_400_000;

/** Removes for good what has been in a team's trash for too long. Runs each night. */
export async function sweep(team: Team, now: number): Promise<void> {
  await team.trash.removeBefore(now - trashDays(team.settings.trashDays) * DAY_MS);
}
