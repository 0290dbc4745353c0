import type { ServiceProject } from "../config/config.ts";
import type { RunnerRow } from "./runner-row.ts";

/** A runner that has said nothing for longer than a lease is away. */
export const AWAY_AFTER_MS = 60_000;

/** How a runner elsewhere stands. `revoked` is for ever. */
export type RunnerState = "ready" | "draining" | "away" | "revoked";

/** How a runner stands now. */
export function runnerState(
  { revokedAt, seenAt, isDraining }: Pick<RunnerRow, "revokedAt" | "seenAt" | "isDraining">,
  nowMs: number,
): RunnerState {
  if (revokedAt !== null) return "revoked";
  if (seenAt === null || nowMs - seenAt > AWAY_AFTER_MS) return "away";
  return isDraining ? "draining" : "ready";
}

/** What decides which projects a runner may run: null are all of them. */
export type RunnerScope = { projects: readonly string[] | null; labels: readonly string[] };

/** True if a runner may run turns of the project and has all the labels that it asks for. */
export function mayRun(
  { projects, labels }: RunnerScope,
  { id, runners }: Pick<ServiceProject, "id" | "runners">,
): boolean {
  return (projects?.includes(id) ?? true) && runners.labels.every((label) => labels.includes(label));
}
