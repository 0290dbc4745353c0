import { z } from "zod";
import type { Segment, SharedFile } from "../core/request.ts";
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
  files: z.array(z.unknown()).nullish(),
  /** Of our own messages. */
  metadata: z.unknown().optional(),
});
export type SaidMessage = z.infer<typeof SaidMessage>;

/** What a person has just written, as an event tells it; edits are not, nor is what apps write. Subtypes are for each place to name. */
export const WrittenMessage = z.object({
  bot_id: z.never().optional(),
  app_id: z.never().optional(),
  edited: z.never().optional(),
  channel: z.string(),
  user: z.string(),
  text: z.string().default(""),
  files: z.array(z.unknown()).nullish(),
  ts: z.string(),
});

/** What a person has written. `text` is as Slack writes it; `threadTs`: null where it may be the root of a thread itself. */
export type Said = {
  teamId: string;
  channelId: string;
  ts: string;
  threadTs: string | null;
  userId: string;
  text: string;
  files: SharedFile[];
};

/** The same in our words. */
export function saidOf(
  teamId: string,
  message: z.infer<typeof WrittenMessage> & { thread_ts?: string | undefined },
): Said {
  const { channel: channelId, user: userId, text, ts, thread_ts: threadTs = null } = message;
  return { teamId, channelId, ts, threadTs, userId, text, files: filesOfMessage(message) };
}

/** A file as messages carry it; one that Slack keeps elsewhere, hides or has deleted says less. */
const SaidFile = z.object({
  id: z.string(),
  name: OptionalText,
  title: OptionalText,
  mimetype: OptionalText,
  size: z.number().nullish(),
  mode: OptionalText,
  is_external: z.boolean().nullish(),
  url_private_download: OptionalText,
});

/** Its files. */
export function filesOfMessage({ files }: { files?: unknown[] | null | undefined }): SharedFile[] {
  return (files ?? []).flatMap((file) => {
    const { data } = SaidFile.safeParse(file);
    if (data === undefined || data.mode === "tombstone") return [];
    const { id, name, title, mimetype, size, is_external, url_private_download } = data;
    const mediaType = (mimetype ?? "").toLowerCase().split(";", 1)[0]?.trim() ?? "";
    return [
      {
        id,
        name: name || title || "a file",
        mediaType: mediaType === "application/x-yaml" ? "application/yaml" : mediaType,
        size: size ?? 0,
        url: is_external === true ? null : (url_private_download ?? null),
      },
    ];
  });
}

/** As part of a message: nothing where there are none. */
export function withFiles(files: SharedFile[]): { files?: SharedFile[] } {
  return files.length === 0 ? {} : { files };
}

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
