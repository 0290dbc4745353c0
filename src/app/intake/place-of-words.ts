import { choiceNamed, type Question } from "../rules/thread/question.ts";
import type { AskedQuestion, Read } from "../rules/records.ts";
import { isForgotten } from "../rules/forgotten/forgotten.ts";
import { jobInThread, newestOfThread } from "../rules/thread/follow-up.ts";
import { isReply, type Request } from "../rules/turn/request.ts";
import { isDirect, requestListOf } from "../rules/thread/request-list.ts";
import { questionOf, type Turn } from "../rules/turn/turn.ts";
import { turnFor } from "../rules/decisions/accept.ts";
import { answerableIn, wasTaken } from "../rules/decisions/answering.ts";
import { askedMessage } from "../gather/gather-files.ts";
import { whyRefused } from "./access.ts";
import { namesOf, type IntakeDeps } from "./deps.ts";
import type { WordsPlace } from "./read-words.ts";

/** Where a message was written, as things stand now. */
export type MessagePlace = {
  place: WordsPlace;
  /** The question that the place has. */
  asked: AskedQuestion | null;
  /** True if the message was taken before, or its author was asked about it. */
  isKnown: boolean;
  /** True if the thread's job says which project a follow-up is for. */
  hasProject: boolean;
  /** True if the person made the newest open request of the thread. */
  isOwn: boolean;
};

/** The newest requests of a person among which a question may be open in their direct messages. */
const NEWEST_REQUESTS = 20;

/** How long a message that may be an answer waits to hear whether it has files. */
const FILES_WITHIN_MS = 1_000;

/** Looks up where a message was written. `request` is what it would be as a request. */
export async function placeOf(deps: IntakeDeps, request: Request): Promise<MessagePlace> {
  const { channelId, threadTs, messageTs } = request;
  const isInThread = isReply(threadTs, messageTs);
  const isAlone = !isInThread && !isDirect(channelId);
  const otherTurns = isInThread || isAlone ? [] : await newestRequests(deps, request);
  const found = await deps.queue.read((read) => {
    const turns = isInThread ? [...newestOfThread(read, request)] : otherTurns;
    return {
      turns,
      isKnown: isKnown(read, request) || turns.some((turn) => wasTaken(turn, request.id)),
      hasProject: givesProject(jobInThread(read, request, deps.projects)),
      isOwn: isInThread && turnFor(deps, read, request, "own-open-request") !== undefined,
    };
  });
  const here = found.turns.filter(({ delivery }) => isInThread || delivery.channelId === channelId);
  const open = answerableIn(deps, here, request);
  // Nothing of people whom nobody knows yet leaves Slack.
  const mayAnswer =
    open.length > 0 && (await whyRefused(deps, request)) === null && !(await hasHiddenFiles(deps, request));
  const { asked, question } = mayAnswer ? theQuestion(here, open, request) : NO_QUESTION;
  const place = {
    isDirect: isDirect(channelId),
    isInThread,
    hasJob: isInThread && found.turns.length > 0,
    question: question && { choices: labelsOf(question), takesWords: question.allowsText },
    projects: namesOf(deps.projects),
  };
  const hasProject = place.hasJob && found.hasProject;
  return { place, asked, isKnown: found.isKnown, hasProject, isOwn: found.isOwn };
}

/** The same place once nothing there can be answered. */
export function withoutQuestion(at: MessagePlace): MessagePlace {
  return { ...at, asked: null, place: { ...at.place, question: null } };
}

/** True if a request there is in the project of a job. A turn that ended without one has none. */
function givesProject(job: ReturnType<typeof jobInThread>): boolean {
  return job.kind === "closed" ? job.project !== null : job.kind !== "none";
}

function isKnown(read: Read, { id }: Request): boolean {
  return read("turn", id) !== undefined || read("reply", id) !== undefined || isForgotten(read, id);
}

async function newestRequests({ series, records }: IntakeDeps, request: Request): Promise<Turn[]> {
  const ids = await series.of(requestListOf("person", request));
  const newest = ids.slice(-NEWEST_REQUESTS).toReversed();
  const turns = await Promise.all(newest.map((id) => records.get("turn", id)));
  return turns.filter((turn) => turn !== undefined);
}

/** True if a message has files of which its event didn't say anything. They can't be an answer. */
async function hasHiddenFiles(deps: IntakeDeps, request: Request): Promise<boolean> {
  const { files = [] } = (await askedMessage(deps, request, FILES_WITHIN_MS)) ?? {};
  return files.length > 0;
}

type Asked = { asked: AskedQuestion | null; question: Question | null };

const NO_QUESTION: Asked = { asked: null, question: null };

/**
 * The question that the words may be for: in a thread the newest one, in direct messages the only
 * one. If there are others, it is the one that has a choice of this name.
 */
function theQuestion(turns: readonly Turn[], open: readonly AskedQuestion[], request: Request): Asked {
  const questions = open.flatMap((asked): (Asked & { question: Question })[] => {
    const turn = turns.find(({ id }) => id === asked.turnId);
    const question = turn === undefined ? undefined : questionOf(turn, asked.question);
    return question === undefined ? [] : [{ asked, question }];
  });
  const naming = questions.filter(({ question }) => choiceNamed(labelsOf(question), request.instructions));
  const isInThread = isReply(request.threadTs, request.messageTs);
  if (naming.length === 1 || (naming.length > 1 && isInThread)) return naming[0] ?? NO_QUESTION;
  return isInThread || questions.length === 1 ? (questions[0] ?? NO_QUESTION) : NO_QUESTION;
}

function labelsOf({ choices }: Question): string[] {
  return choices.map(({ label }) => label);
}
