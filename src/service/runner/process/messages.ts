import { z } from "zod";
import type { ServiceConfig } from "../../config/config.ts";

/** Where a runner gets its work, and with which token. */
export type WorkSource = { url: string; socketPath: string | null; token: string };

/**
 * What a runner must know before it runs turns. Secrets are in its own environment, but for the
 * token.
 */
export type RunnerSettings = Pick<ServiceConfig, "dataDir" | "containment" | "logLevel" | "projects"> & {
  source: WorkSource;
  places: number;
  labels: string[];
};

/** Messages to a runner from the process that started it. `open` comes first, and only once. */
export type ToRunner =
  | { kind: "open"; settings: RunnerSettings }
  /** It shall take no more turns, and say when the last one has ended. */
  | { kind: "drain" }
  /** Asks for a sign of life. */
  | { kind: "ping" };

/** Messages from a runner to the process that started it. All else goes over the runner API. */
export const FromRunner = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("opened") }),
  z.object({ kind: z.literal("unopened"), problem: z.string() }),
  z.object({ kind: z.literal("drained") }),
  z.object({ kind: z.literal("pong") }),
]);
