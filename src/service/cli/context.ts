import type { Clock } from "../../core/clock.ts";
import type { ServiceConfig } from "../config.ts";

/** What the commands work with. */
export type CommandContext = {
  /** The settings. `needsSecrets`: the variables that they name must be set. Throws a `ServiceConfigError`. */
  settings: (options: { needsSecrets: boolean }) => ServiceConfig;
  clock: Clock;
  /** Writes to the standard output. */
  write: (text: string) => void;
  /** Whether a person looks at the output. */
  isTerminal: boolean;
};
