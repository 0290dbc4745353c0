import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { RecordStore } from "../core/records.ts";
import { QuotedMessage } from "../core/request.ts";
import type { TaskQueue } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";

/**
 * What a form was opened from, kept while the form is open: a form's own `private_metadata` ends at 3,000 characters, and a
 * message can be longer.
 */
export const Draft = z.object({
  version: z.literal(1),
  from: z.enum(["command", "shortcut"]),
  teamId: z.string(),
  channelId: z.string(),
  threadTs: z.string().nullable(),
  quoted: QuotedMessage.nullable(),
  responseUrl: z.string().nullable(),
});
export type Draft = z.infer<typeof Draft>;

/** What the intake stands on. */
export type IntakeDeps = {
  queue: Pick<TaskQueue, "add">;
  drafts: RecordStore<Draft>;
  turns: Pick<RecordStore<Turn>, "get">;
  /** Names of the projects, the default first; never empty. */
  projects: [string, ...string[]];
  clock: Clock;
  logger: Logger;
};
