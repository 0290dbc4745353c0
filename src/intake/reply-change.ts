import { z } from "zod";
import { keepReplyMs } from "../tasks/ask.ts";
import type { IntakeDeps } from "./deps.ts";
import { parseMessageText, readableText } from "./message-text.ts";
import { causeOf } from "./said-to-app.ts";

/** What Slack tells of a message that was edited, or got a preview of a link: docs.slack.dev/reference/events/message/message_changed */
const Changed = z
  .object({
    subtype: z.literal("message_changed"),
    channel: z.string(),
    message: z.object({ ts: z.string(), text: z.string().nullish() }),
  })
  .transform(({ channel, message: { ts, text } }) => ({ channelId: channel, ts, text: text ?? "" }));

/** And of one that was deleted: docs.slack.dev/reference/events/message/message_deleted */
const Deleted = z
  .object({ subtype: z.literal("message_deleted"), channel: z.string(), deleted_ts: z.string() })
  .transform(({ channel, deleted_ts }) => ({ channelId: channel, ts: deleted_ts, text: "" }));

const Change = z.union([Changed, Deleted]);

/** Of a reply whose author was asked whether it is for the agent: **Send it** sends what it says now, and nothing where it is gone. */
export async function noteChange(deps: IntakeDeps, teamId: string, event: object): Promise<void> {
  const { data: change } = Change.safeParse(event);
  if (change === undefined || deps.followUps !== "ask") return;
  const id = causeOf({ teamId, ...change });
  const kept = await deps.records.reply.get(id);
  // **Start another** sends what a mention said when it arrived.
  if (kept === undefined || kept.sameAs !== undefined) return;
  const segments = parseMessageText(change.text);
  const isForOthers = segments.some(({ kind }) => kind === "person" || kind === "group");
  const instructions = isForOthers ? "" : readableText(segments).trim();
  await deps.queue.commit((read) => {
    const reply = read("reply", id);
    if (reply === undefined || reply.request.instructions === instructions) return { value: undefined };
    const record = instructions === "" ? null : { ...reply, request: { ...reply.request, instructions } };
    const ttlMs = keepReplyMs(reply.request, deps.clock.now());
    return { writes: [{ kind: "reply", id, record, ttlMs }], value: undefined };
  });
}
