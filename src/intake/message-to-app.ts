import type { Refusal } from "../core/ports/notifier.ts";
import type { ProjectRef } from "../core/job/project.ts";
import { DEFAULT_INSTRUCTIONS } from "../core/turn/request.ts";
import type { MessageRef, Request, Segment, ThreadMessage } from "../core/turn/request.ts";
import { replyTask, type ReplyPayload } from "../decisions/new-tasks.ts";
import { acceptOrAsk } from "./accept-request.ts";
import { parseCommandText, parseReplyText } from "./command-text.ts";
import { findProject, teamOf, tooLong, type IntakeDeps } from "./deps.ts";
import { askForList } from "./lists.ts";
import { saysAnything } from "../core/text/prompt.ts";
import { withoutGuestsShown } from "../decisions/goes-along.ts";
import { typedWords } from "./typed-words.ts";
import { withFiles, WrittenMessage, toPersonMessage, type PersonMessage } from "./slack-message.ts";
import type { App } from "@slack/bolt";
import { z } from "zod";

/**
 * Handles a message to the app: as a request, as a follow-up if it is in a job's thread, or with a
 * private answer.
 */
export async function takeMessage(
  deps: IntakeDeps,
  message: PersonMessage,
  botUserId: string | undefined,
): Promise<void> {
  const { teamId, channelId, threadTs, userId } = message;
  const refuse = (why: Refusal) => answerMessage(deps, message, { kind: "refused", refusal: why });

  const typed = await typedWords(deps, withoutMention(message.typed, botUserId));
  const read = threadTs === null ? { ...parseCommandText(typed), isNew: true } : parseReplyText(typed);
  const isAboutBeside = read.kind === "empty" && (await saysOfMembers(deps, message.beside));
  const parsed = isAboutBeside ? { ...read, kind: "prompt" as const, prompt: DEFAULT_INSTRUCTIONS } : read;
  if (parsed.kind === "list") {
    const asked = { teamId, channelId, threadTs, userId, responseUrl: null };
    return askForList(deps, causeOf(message), parsed, asked);
  }
  if (parsed.kind !== "prompt") {
    const isOfFiles = parsed.kind === "empty" && message.files.length > 0;
    return answerMessage(deps, message, { kind: "help", ...(isOfFiles ? { isOfFiles } : {}) });
  }
  const project = findProject(deps.projects, parsed.project);
  if ("kind" in project) return refuse(project);
  const refusal = tooLong(parsed.prompt);
  if (refusal !== null) return refuse(refusal);
  const request = requestOf(deps, message, project, parsed.prompt);
  const threadAim = parsed.project === null ? "thread" : "thread-in-project";
  const accepted = await acceptOrAsk(deps, request, parsed.isNew ? "own-job" : threadAim);
  if (accepted.kind === "refused") await refuse(accepted.refusal);
  if (accepted.kind === "not-allowed") await answerMessage(deps, message, accepted);
}

/** The request that a message makes. */
export function requestOf(
  { clock }: Pick<IntakeDeps, "clock">,
  message: PersonMessage,
  project: ProjectRef,
  instructions: string,
): Request {
  const { teamId, channelId, ts, threadTs, userId, files, beside, mayHaveFiles } = message;
  return {
    id: causeOf(message),
    from: "mention",
    teamId,
    channelId,
    threadTs: threadTs ?? ts,
    userId,
    project,
    instructions,
    quoted: null,
    messageTs: ts,
    ...withFiles(files),
    ...(beside === null ? {} : { beside }),
    ...(mayHaveFiles ? { mayHaveFiles } : {}),
    responseUrl: null,
    receivedAt: clock.now(),
  };
}

/** Answers a message's author privately, once, however often the message arrives. */
export async function answerMessage(
  { queue }: Pick<IntakeDeps, "queue">,
  message: Pick<PersonMessage, "teamId" | "channelId" | "ts" | "threadTs" | "userId">,
  answer: ReplyPayload["message"],
): Promise<void> {
  const { teamId, channelId, threadTs, userId } = message;
  await queue.add(replyTask(causeOf(message), { teamId, channelId, threadTs, userId, message: answer }));
}

/** Identifies a message, which can arrive as several events with different ids. */
export function causeOf({ teamId, channelId, ts }: MessageRef): string {
  return `mention:${teamId}:${channelId}:${ts}`;
}

/** The person's words without mentions of the app. */
function withoutMention(segments: readonly Segment[], botUserId: string | undefined): Segment[] {
  return segments.filter((segment) => segment.kind !== "person" || segment.id !== botUserId);
}

/** True if what a message shows says something that may go along. */
async function saysOfMembers(deps: IntakeDeps, beside: ThreadMessage | null): Promise<boolean> {
  return beside !== null && saysAnything((await withoutGuestsShown(deps, beside)).message);
}

/**
 * A mention by a person. Mentions by apps and workflows are excluded, because they and we could
 * keep answering each other. Slack sends another event when a mention is edited, however old it is,
 * or added to a message (github.com/slack-go/slack/pull/1256). Files come with it
 * (github.com/slackapi/bolt-js/issues/2056).
 */
const Mention = WrittenMessage.omit({ app_id: true }).extend({ text: z.string() });

/**
 * Handles mentions of the app: the way to ask from inside a thread, where slash commands don't
 * work. In a job's thread, a mention is a follow-up to that job.
 */
export function registerMention(app: App, deps: IntakeDeps): void {
  app.event("app_mention", async ({ event, context }) => {
    const mention = Mention.safeParse(event);
    if (mention.success)
      await takeMessage(deps, toPersonMessage(teamOf(context), mention.data), context.botUserId);
  });
}
