import * as z from "zod";

/**
 * The rule-based agent's way of working: as fast as it can, with pauses, so that it fails in the
 * middle, only after a person has said yes, or with words to the requester on the page.
 */
export const AgentMood = z.enum(["normal", "slow", "fails", "asks", "chats"]);
export type AgentMood = z.infer<typeof AgentMood>;
