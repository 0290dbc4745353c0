import * as z from "zod";

/**
 * The rule-based agent's way of working: as fast as it can, with pauses, so that it fails in the
 * middle, or only after a person has said yes.
 */
export const AgentMood = z.enum(["normal", "slow", "fails", "asks"]);
export type AgentMood = z.infer<typeof AgentMood>;
