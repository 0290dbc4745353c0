import type { App, MessageShortcut } from "@slack/bolt";
import { z } from "zod";
import type { QuotedMessage } from "../core/request.ts";
import type { IntakeDeps } from "./deps.ts";
import { parseMessageText } from "./message-text.ts";
import { openRequestForm } from "./request-form.ts";

export const FIX_THESE_DOCS = "fix_these_docs";

/** What of a picked message we use; apps post messages whose words are only in attachments. */
const PickedMessage = z.object({
  ts: z.string(),
  thread_ts: z.string().optional(),
  text: z.string().optional(),
  user: z.string().optional(),
  username: z.string().optional(),
  bot_profile: z.object({ name: z.string().optional() }).optional(),
  attachments: z.array(z.object({ fallback: z.string().optional(), text: z.string().optional() })).optional(),
});

/** **Fix these docs** on a message: opens a form that shows the message. */
export function registerShortcut(app: App, deps: IntakeDeps): void {
  app.shortcut(
    { callback_id: FIX_THESE_DOCS, type: "message_action" },
    async ({ shortcut, ack, client, respond }) => {
      await ack();
      if (shortcut.type !== "message_action") return;
      const quoted = quotedOf(shortcut);
      await openRequestForm(deps, client, respond, {
        triggerId: shortcut.trigger_id,
        project: deps.projects[0],
        draft: {
          version: 1,
          from: "shortcut",
          teamId: shortcut.team?.id ?? shortcut.user.team_id ?? "",
          channelId: shortcut.channel.id,
          threadTs: quoted.threadTs ?? quoted.ts,
          quoted,
          responseUrl: shortcut.response_url,
        },
      });
    },
  );
}

function quotedOf(shortcut: MessageShortcut): QuotedMessage {
  const message = PickedMessage.parse(shortcut.message);
  const attached = (message.attachments ?? []).map(({ text, fallback }) => text ?? fallback ?? "");
  const text = [message.text ?? "", ...attached].filter((part) => part !== "").join("\n");
  return {
    segments: parseMessageText(text),
    authorId: message.user ?? null,
    authorName: message.username ?? message.bot_profile?.name ?? null,
    channelId: shortcut.channel.id,
    ts: message.ts,
    threadTs: message.thread_ts ?? null,
  };
}
