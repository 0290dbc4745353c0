import type { App } from "@slack/bolt";
import type { Refusal } from "../core/notifier.ts";
import { PROMPT_MAX_CHARS } from "../core/request.ts";
import type { Request } from "../core/request.ts";
import { replyTask } from "../tasks/reply.ts";
import type { ReplyPayload } from "../tasks/reply.ts";
import { acceptRequest } from "./accept-request.ts";
import { parseCommandText, parseReplyText } from "./command-text.ts";
import type { IntakeDeps } from "./deps.ts";
import { askForList } from "./lists.ts";
import { parseMessageText, readableText } from "./message-text.ts";
import { findProject, namesOf } from "./project.ts";

export const MENTION_EVENT = "app_mention";

/**
 * A mention of the app with a prompt: the way to ask from inside a thread, where slash commands do not work. In the thread of a job it is a
 * follow-up to that job.
 */
export function registerMention(app: App, deps: IntakeDeps): void {
  app.event(MENTION_EVENT, async ({ event, body, context }) => {
    // Apps and workflows that mention us could keep answering each other.
    if (event.user === undefined || ("bot_id" in event && event.bot_id !== undefined)) return;
    // One message can arrive under several event ids; where and when it was written names it.
    const cause = mentionCause(body.team_id, event);
    const { user: userId, channel: channelId } = event;
    const threadTs = event.thread_ts ?? event.ts;
    const reply = (message: ReplyPayload["message"]) =>
      deps.queue.add(
        replyTask(cause, {
          teamId: body.team_id,
          channelId,
          threadTs: event.thread_ts ?? null,
          userId,
          message,
        }),
      );
    const refuse = (refusal: Refusal) => reply({ kind: "refused", refusal });

    const typed = withoutMention(event.text, context.botUserId);
    const parsed =
      event.thread_ts === undefined ? { ...parseCommandText(typed), isNew: true } : parseReplyText(typed);
    if (parsed.kind === "list" || parsed.kind === "status") {
      const place = { teamId: body.team_id, channelId, threadTs: event.thread_ts ?? null };
      await askForList(deps, cause, parsed, { ...place, userId, responseUrl: null });
      return;
    }
    if (parsed.kind !== "prompt") {
      await reply({ kind: "help" });
      return;
    }
    const project = findProject(deps.projects, parsed.project);
    if (project === undefined) {
      await refuse({ kind: "unknown-project", name: parsed.project ?? "", known: namesOf(deps.projects) });
      return;
    }
    if (parsed.prompt.length > PROMPT_MAX_CHARS) {
      await refuse({ kind: "too-long", length: parsed.prompt.length, limit: PROMPT_MAX_CHARS });
      return;
    }
    const request: Request = {
      id: cause,
      from: "mention",
      teamId: body.team_id,
      channelId,
      threadTs,
      userId,
      project,
      instructions: parsed.prompt,
      quoted: null,
      messageTs: event.ts,
      responseUrl: null,
      receivedAt: deps.clock.now(),
    };
    const threadAim = parsed.project === null ? "thread" : "thread-in-project";
    const accepted = await acceptRequest(deps, request, parsed.isNew ? "own-job" : threadAim);
    if (accepted.kind === "refused") await refuse(accepted.refusal);
  });
}

/** Names a message that may be a request, however often and as whatever event it arrives. */
export function mentionCause(teamId: string, { channel, ts }: { channel: string; ts: string }): string {
  return `mention:${teamId}:${channel}:${ts}`;
}

/** What the person typed besides the mention of the app. */
function withoutMention(text: string, botUserId: string | undefined): string {
  const segments = parseMessageText(text);
  const mention = segments.findIndex((segment) => segment.kind === "person" && segment.id === botUserId);
  return readableText(segments.filter((_, index) => index !== mention));
}
