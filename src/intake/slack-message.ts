import { z } from "zod";
import type { Segment } from "../core/request.ts";
import { parseMessageText } from "./message-text.ts";

const OptionalText = z.string().nullish();

/** What of a message we use; apps post messages whose words are only in attachments, and leave fields null. */
export const SaidMessage = z.object({
  ts: z.string(),
  thread_ts: OptionalText,
  subtype: OptionalText,
  text: OptionalText,
  user: OptionalText,
  username: OptionalText,
  bot_id: OptionalText,
  bot_profile: z.object({ name: OptionalText }).nullish(),
  attachments: z.array(z.object({ fallback: OptionalText, text: OptionalText }).nullish()).nullish(),
  /** Of our own messages. */
  metadata: z.unknown().optional(),
});
export type SaidMessage = z.infer<typeof SaidMessage>;

/** Who wrote it: a user id, or where there is none, a name. */
export function authorOf({ user, username, bot_profile }: SaidMessage): {
  authorId: string | null;
  authorName: string | null;
} {
  return { authorId: user ?? null, authorName: username ?? bot_profile?.name ?? null };
}

/** All of its words. */
export function wordsOf({ text, attachments }: SaidMessage): Segment[] {
  const attached = (attachments ?? []).map((part) => part?.text ?? part?.fallback ?? "");
  return parseMessageText([text ?? "", ...attached].filter((part) => part !== "").join("\n"));
}
