import { z } from "zod";
import { Usage } from "../../../shared/contract/turn.ts";
import type { ServiceConfig, ServiceProject } from "../../config/config.ts";
import type { UsedBefore } from "../../network/gateway/turn-budget.ts";

/** What the model door must know before it takes calls. Keys are in its own environment. */
export type DoorSettings = Pick<ServiceConfig, "dataDir" | "logLevel" | "projects">;

/** What the door must know of the project of a piece of work. */
export type DoorProject = Pick<ServiceProject, "id" | "network" | "models" | "budget" | "limits">;

/**
 * Messages from the service to the model door, as plain JSON. `work` is the number of a piece of
 * work. `start` comes first, and only once.
 */
export type ToDoor =
  | { kind: "start"; settings: DoorSettings }
  | { kind: "open"; work: number; id: string; project: DoorProject; usedBefore: UsedBefore }
  | { kind: "close"; work: number }
  /** Asks for a sign of life. */
  | { kind: "ping" };

const work = z.int();

/**
 * Messages from the model door to the service. `key` is what calls of this piece of work carry
 * between the two. A usage is all since the work was opened there.
 */
export const FromDoor = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("listening"), socketPath: z.string() }),
  z.object({ kind: z.literal("failed"), problem: z.string() }),
  z.object({ kind: z.literal("opened"), work, key: z.string() }),
  z.object({ kind: z.literal("usage"), work, usage: Usage }),
  z.object({ kind: z.literal("exceeded"), work, reason: z.string() }),
  z.object({ kind: z.literal("closed"), work, usage: Usage }),
  z.object({ kind: z.literal("pong") }),
]);
export type FromDoor = z.infer<typeof FromDoor>;
