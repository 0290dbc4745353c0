import { z } from "zod";
import type { Turn } from "./turn.ts";

/**
 * Which replies in a job's thread are follow-ups: `mention`, those that mention the app; `requester`, besides, every reply of whoever asked for
 * the thread's newest open request; `ask`, besides, those that their author says are.
 */
export const FollowUps = z.enum(["mention", "ask", "requester"]);
export type FollowUps = z.infer<typeof FollowUps>;

/** Whether a person may say how the work on a turn goes on, by its buttons: under `requester` only whoever asked for it, else anyone who sees them. */
export function maySteer(followUps: FollowUps, { request }: Pick<Turn, "request">, userId: string): boolean {
  return followUps !== "requester" || request.userId === userId;
}
