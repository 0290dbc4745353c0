import * as z from "zod";

/**
 * How the rule-based agent goes about its work: as fast as it can, with pauses, not to the end, or
 * only after a person has said yes.
 */
export const AgentMood = z.enum(["normal", "slow", "fails", "asks"]);
export type AgentMood = z.infer<typeof AgentMood>;
