import type { Outcome } from "../turn/outcome.ts";
import type { QuotedMessage, Request, SharedFile, ThreadMessage } from "../turn/request.ts";
import type { AppRecords } from "../records.ts";
import type { Question } from "../thread/question.ts";
import { type Turn, withQuestions } from "../turn/turn.ts";
import { FORGOTTEN, FORGOTTEN_WORDS } from "./forgotten.ts";

/**
 * What a turn has of a person: they asked for it, also if somebody tried it again; it has words
 * or files of theirs; or it only names them, such as among its followers. Null if nothing.
 */
export type PartOf = "asked" | "wrote" | "named" | null;

/** Says what a turn has of a person. What others wrote about them doesn't count. */
export function partOf(turn: Turn, userId: string): PartOf {
  const { request, questions = [] } = turn;
  if (request.userId === userId || request.retries?.userId === userId) return "asked";
  const isAnswered = questions.some(({ answer }) => answer?.userId === userId);
  if (isAnswered || hasWordsOf(request, userId)) return "wrote";
  return isNamedIn(turn, userId) ? "named" : null;
}

/** True if something in a request, or in a form's draft, is written by a person. */
export function hasWordsOf(
  { quoted, beside, context }: Pick<Request, "quoted" | "beside" | "context">,
  userId: string,
): boolean {
  return [quoted, beside, ...(context?.messages ?? [])].some(
    (message) =>
      message?.authorId === userId || message?.shows?.some(({ authorId }) => authorId === userId) === true,
  );
}

/**
 * True for a record that is a person's as a whole. `of` gives it as its kind. One that can't be
 * read goes, too: its author can't be told from others.
 */
export function goesWhole(
  of: <K extends keyof AppRecords>(kind: K) => AppRecords[K] | undefined,
  kind: keyof AppRecords,
  id: string,
  userId: string,
): boolean {
  if (kind === "person") return id.endsWith(`:${userId}`);
  if (kind === "draft") {
    const draft = of(kind);
    return draft === undefined || hasWordsOf(draft, userId);
  }
  if (kind === "reply") {
    const request = of(kind)?.request;
    return request === undefined || request.userId === userId || hasWordsOf(request, userId);
  }
  return of(kind) === undefined;
}

/** Somebody else's turn without a person's words, files and name. `goneIds` are turns that go. */
export function withoutPerson(turn: Turn, userId: string, goneIds: ReadonlySet<string>): Turn {
  const { request, files } = turn;
  const fileIds = new Set(filesOf(request, userId).map(({ id }) => id));
  const isKept = ({ id }: { id: string }) => !fileIds.has(id);
  const { quoted, beside, context } = request;
  const kept: Turn = {
    ...turn,
    request: {
      ...request,
      quoted: quoted && messageWithout<QuotedMessage>(quoted, userId),
      ...(beside && { beside: messageWithout<ThreadMessage>(beside, userId) }),
      ...(context && {
        context: {
          ...context,
          messages: context.messages
            .filter(({ authorId }) => authorId !== userId)
            .map((message) => messageWithout<ThreadMessage>(message, userId)),
        },
      }),
    },
    ...(files && {
      files: {
        ...files,
        sent: files.sent.filter(isKept),
        unsent: files.unsent.filter(isKept),
        ...(files.unfetched && { unfetched: files.unfetched.filter(isKept) }),
      },
    }),
  };
  const questions = (turn.questions ?? []).map((question) => questionWithout(question, userId));
  return withoutGone(withoutName(withQuestions(kept, questions), userId), goneIds);
}

/**
 * An ended turn without what its agent was told and said, of a job that a forgotten person had a
 * part in. The job counts as archived, so the next request in its thread begins another one.
 */
export function withoutAgentsWords(turn: Turn): Turn {
  const { stage, pullRequest } = turn;
  if (stage.name !== "ended") return turn;
  const questions = (turn.questions ?? []).map((question): Question => ({
    ...question,
    text: FORGOTTEN_WORDS,
    choices: [],
    moreChoices: 0,
  }));
  const archived = <T extends NonNullable<Turn["job"]>>(job: T | null) =>
    job && { ...job, status: "archived" as const };
  const { unasked } = pullRequest ?? {};
  return {
    ...withQuestions(turn, questions),
    job: archived(turn.job),
    stage: { ...stage, outcome: { ...outcomeWithoutWords(stage.outcome), job: archived(stage.outcome.job) } },
    ...(pullRequest && unasked && { pullRequest: { ...pullRequest, unasked: { ...unasked, words: "" } } }),
  };
}

function outcomeWithoutWords(outcome: Outcome): Outcome {
  const { told } = outcome;
  if (told === undefined) return { ...outcome, said: null };
  const { answer: _answer, notes: _notes, ...kept } = told;
  const { pullRequest, checks } = kept;
  return {
    ...outcome,
    said: null,
    told: {
      ...kept,
      reason: kept.reason === null ? null : FORGOTTEN_WORDS,
      summary: null,
      pullRequest: pullRequest && { ...pullRequest, pages: undefined },
      ...(checks && { checks: checks.map((check) => ({ ...check, first: null })) }),
    },
  };
}

function isNamedIn({ stage, stop, followers = [], votes = {}, pressed }: Turn, userId: string): boolean {
  const stopper = stage.name === "ended" ? stage.outcome.stoppedBy : undefined;
  const pressers = Object.values(pressed).map((press) => press.userId);
  return [stop?.userId, stopper, ...followers, ...pressers, ...Object.keys(votes)].includes(userId);
}

/** What of a turn names a person who didn't write anything in it. */
function withoutName(turn: Turn, userId: string): Turn {
  const { stage, stop, followers, votes, pressed } = turn;
  const isStopper = stage.name === "ended" && stage.outcome.stoppedBy === userId;
  const presses = Object.entries(pressed).map(([watch, press]) => [
    watch,
    press.userId === userId ? { ...press, userId: FORGOTTEN } : press,
  ]);
  return {
    ...turn,
    pressed: Object.fromEntries(presses),
    ...(followers && { followers: followers.filter((each) => each !== userId) }),
    ...(votes && { votes: Object.fromEntries(Object.entries(votes).filter(([each]) => each !== userId)) }),
    ...(stop?.userId === userId && { stop: { ...stop, userId: FORGOTTEN } }),
    ...(isStopper && { stage: { ...stage, outcome: { ...stage.outcome, stoppedBy: FORGOTTEN } } }),
  };
}

/** A status message that shows a turn that goes isn't updated anymore for the sake of others. */
function withoutGone(turn: Turn, goneIds: ReadonlySet<string>): Turn {
  const { delivery } = turn;
  const { statusOf, alsoShows } = delivery;
  const isOwnerGone = statusOf !== undefined && goneIds.has(statusOf);
  return {
    ...turn,
    delivery: {
      ...delivery,
      ...(alsoShows && { alsoShows: alsoShows.filter((id) => !goneIds.has(id)) }),
      ...(isOwnerGone && { shown: null }),
    },
  };
}

/** Where a message was stays known, because people find the turn by it. */
function messageWithout<T extends ThreadMessage>(message: T, userId: string): T {
  const shows = message.shows
    ?.filter(({ authorId }) => authorId !== userId)
    .map((shown) => ({
      ...shown,
      ...(shown.within && {
        within: shown.within.map((each) => (each.authorId === userId ? { ...each, authorId: null } : each)),
      }),
    }));
  const kept = { ...message, ...(shows && { shows }) };
  if (message.authorId !== userId) return kept;
  const segments = [{ kind: "text" as const, text: FORGOTTEN_WORDS }];
  return { ...kept, segments, authorId: null, authorName: null, files: undefined, leftOut: undefined };
}

/** The agent got an answer, but nobody here says whose. */
function questionWithout(question: Question, userId: string): Question {
  if (question.answer?.userId !== userId) return question;
  const { answer: _, ...asked } = question;
  return { ...asked, closed: "elsewhere", ...(asked.shown !== undefined && { shown: "elsewhere" }) };
}

function filesOf({ quoted, beside, context }: Request, userId: string): SharedFile[] {
  return [quoted, beside, ...(context?.messages ?? [])].flatMap((message) => [
    ...(message?.authorId === userId ? (message.files ?? []) : []),
    ...(message?.shows ?? []).flatMap((shown) => (shown.authorId === userId ? (shown.files ?? []) : [])),
  ]);
}
