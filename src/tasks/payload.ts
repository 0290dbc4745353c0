import { z } from "zod";
import type { Request } from "../core/request.ts";
import type { Turn } from "../core/turn.ts";

/** Whose task it is: carried by every task, so that the person can be told even when all other records are lost. */
export const Whose = z.object({
  teamId: z.string(),
  userId: z.string(),
  channelId: z.string(),
  responseUrl: z.string().nullable(),
});
export type Whose = z.infer<typeof Whose>;

/** The payload of a task that works on one turn. `thread` and `jobId` are there for the log. */
export const TurnPayload = z.object({
  turnId: z.string(),
  thread: z.string(),
  jobId: z.string().nullable(),
  whose: Whose,
});
export type TurnPayload = z.infer<typeof TurnPayload>;

export function turnPayload(turn: Turn): TurnPayload {
  return {
    turnId: turn.id,
    thread: `${turn.thread.channelId}:${turn.thread.ts}`,
    jobId: turn.job?.id ?? null,
    whose: whoseOf(turn.request),
  };
}

export function whoseOf(request: Request): Whose {
  return {
    teamId: request.teamId,
    userId: request.userId,
    channelId: request.channelId,
    responseUrl: request.responseUrl,
  };
}
