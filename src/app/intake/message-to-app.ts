import { saysAnything } from "../rules/words/prompt.ts";
import type { MessageRef, Request } from "../rules/turn/request.ts";
import { besideOfRequest } from "../gather/gather-context.ts";
import { confirmKnown } from "./accept-request.ts";
import { actOnWords, answerAuthor } from "./act-on-words.ts";
import type { IntakeDeps } from "./deps.ts";
import { placeOf } from "./place-of-words.ts";
import { withFiles, type PersonMessage } from "../slack/message/slack-message.ts";
import { typedWords } from "./typed-words.ts";
import { withoutMention } from "../slack/message/without-mention.ts";

/**
 * Handles a message to the app: as an answer, as a request, as a follow-up if it is in a job's
 * thread, or with a private answer.
 */
export async function takeMessage(
  deps: IntakeDeps,
  arrived: PersonMessage,
  botUserId: string | undefined,
): Promise<void> {
  const [typed, message] = await Promise.all([
    typedWords(deps, withoutMention(arrived.typed, botUserId)),
    ofMembers(deps, arrived),
  ]);
  const request = requestOf(deps, message, typed);
  const at = await placeOf(deps, request);
  if (at.isKnown) return confirmKnown(deps);
  const { isTelling, beside } = message;
  const how = { wanted: "thread", isTelling: isTelling && beside !== null && saysAnything(beside) } as const;
  const taken = await actOnWords(deps, request, at, how);
  if (taken.kind === "refused" || taken.kind === "not-allowed") await answerAuthor(deps, request, taken);
}

/**
 * The request that a message makes. Its words and its thread say which project it is for.
 * `instructions`: what was typed.
 */
export function requestOf(
  { clock, projects }: Pick<IntakeDeps, "clock" | "projects">,
  message: PersonMessage,
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
    project: projects[0],
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

/** The same message without what it shows of guests, of whom nothing is kept. */
export async function ofMembers(
  deps: Pick<IntakeDeps, "directory">,
  message: PersonMessage,
): Promise<PersonMessage> {
  if (message.beside === null) return message;
  const beside = await besideOfRequest(deps, { beside: message.beside }, true);
  return { ...message, beside: beside ?? null };
}

/** Identifies a message, which can arrive as several events with different ids. */
export function causeOf({ teamId, channelId, ts }: MessageRef): string {
  return `mention:${teamId}:${channelId}:${ts}`;
}
