import type { Refusal } from "../core/notifier.ts";
import { PROMPT_MAX_CHARS } from "../core/request.ts";
import type { Request, SharedFile } from "../core/request.ts";
import { replyTask } from "../tasks/reply.ts";
import type { ReplyPayload } from "../tasks/reply.ts";
import { acceptRequest } from "./accept-request.ts";
import { parseCommandText, parseReplyText } from "./command-text.ts";
import type { IntakeDeps } from "./deps.ts";
import { askForList } from "./lists.ts";
import { parseMessageText, readableText } from "./message-text.ts";
import { findProject, namesOf } from "./project.ts";
import { withFiles } from "./slack-message.ts";

/** A message that is for the app. `text` is as Slack writes it; `threadTs`: null where it may be the root of a thread itself. */
export type SaidToApp = {
  teamId: string;
  channelId: string;
  ts: string;
  threadTs: string | null;
  userId: string;
  text: string;
  files: SharedFile[];
};

/** Takes a message as a request, in the thread of a job as a follow-up to that job, or answers it privately. */
export async function takeSaid(
  deps: IntakeDeps,
  said: SaidToApp,
  botUserId: string | undefined,
): Promise<void> {
  const { teamId, channelId, ts, threadTs, userId } = said;
  // One message can arrive under several event ids; where and when it was written names it.
  const cause = mentionCause(teamId, { channel: channelId, ts });
  const place = { teamId, channelId, threadTs, userId };
  const reply = (message: ReplyPayload["message"]) => deps.queue.add(replyTask(cause, { ...place, message }));
  const refuse = (refusal: Refusal) => reply({ kind: "refused", refusal });

  const typed = withoutMention(said.text, botUserId);
  const parsed = threadTs === null ? { ...parseCommandText(typed), isNew: true } : parseReplyText(typed);
  if (parsed.kind === "list" || parsed.kind === "status") {
    await askForList(deps, cause, parsed, { ...place, responseUrl: null });
    return;
  }
  if (parsed.kind !== "prompt") {
    const isOfFiles = parsed.kind === "empty" && said.files.length > 0;
    await reply({ kind: "help", ...(isOfFiles ? { isOfFiles } : {}) });
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
    teamId,
    channelId,
    threadTs: threadTs ?? ts,
    userId,
    project,
    instructions: parsed.prompt,
    quoted: null,
    messageTs: ts,
    ...withFiles(said.files),
    responseUrl: null,
    receivedAt: deps.clock.now(),
  };
  const threadAim = parsed.project === null ? "thread" : "thread-in-project";
  const accepted = await acceptRequest(deps, request, parsed.isNew ? "own-job" : threadAim);
  if (accepted.kind === "refused") await refuse(accepted.refusal);
  if (accepted.kind === "not-allowed") await reply(accepted);
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
