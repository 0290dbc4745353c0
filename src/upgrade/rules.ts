import { z } from "zod";
import { DocsAgentError } from "../shared/errors.ts";

/** The upgrade can't go on. The message says what was changed, and what to do. */
export class UpgradeError extends DocsAgentError {
  readonly code = "upgrade";
}

/** The units of systemd, in the order in which they start. */
export const UNITS = ["docs-agent-service", "docs-agent"] as const;
export type Unit = (typeof UNITS)[number];

/** A version as a package has it. */
export const Version = z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
/** A release's folder: a version and the beginning of its package's hash. */
const Release = z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?-[0-9a-f]{8}$/);

/**
 * An upgrade under way, as `upgrade.json` keeps it from the moment before the programs are stopped
 * until its end. Releases are named by their folders.
 */
export const UpgradeJournal = z.object({
  version: z.literal(1),
  /** Null if there was no release before. */
  from: Release.nullable(),
  to: Release,
  /** The units that ran before. */
  units: z.array(z.enum(UNITS)),
  /**
   * The folder with the state as the release before left it. It is whole once `current` names the
   * new release. Null until it is begun.
   */
  backup: z
    .string()
    .regex(/^backups\/\d{14}$/)
    .nullable(),
  /** True once it was decided to go back. */
  isBack: z.boolean(),
});
export type UpgradeJournal = z.infer<typeof UpgradeJournal>;

/** What an upgrade does next. Each step may run again after one that broke off. */
export type UpgradeStep =
  /** Stop the programs, copy the state, and let `current` name the new release. */
  | "switch"
  /** Start the programs, and see whether all is well. */
  | "try"
  /** Put the copy back, and let `current` name the release before. */
  | "restore"
  /** Start the programs of the release before. */
  | "start-old";

/**
 * The step that comes next. `current` alone says which release runs: it changes in one moment, once
 * the state is as that release needs it.
 */
export function nextStep(journal: UpgradeJournal, current: string | null): UpgradeStep {
  if (journal.isBack) return current === journal.to ? "restore" : "start-old";
  // A program may have been started meanwhile, so an earlier copy may be old.
  return current === journal.to ? "try" : "switch";
}

/** The version of a release, by its folder's name. */
export function versionOfRelease(release: string): string {
  return release.replace(/-[0-9a-f]{8}$/, "");
}

/** True if a version is older than another one. What follows a hyphen doesn't count. */
export function isOlder(version: string, other: string): boolean {
  const [one, two] = [version, other].map((text) => text.split("-")[0]?.split(".").map(Number) ?? []);
  for (const at of [0, 1, 2]) {
    const difference = (one?.[at] ?? 0) - (two?.[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
