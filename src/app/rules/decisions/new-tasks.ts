import type { NewTask } from "../../../shared/queue/task-queue.ts";
import { isFollowUp, questionOf, takesAnswers, type Turn } from "../turn/turn.ts";
import { turnPayload, TurnPayload, RateLimited } from "./payload.ts";
import { statusKey, isOnlyStepNew, askingMessage } from "../words/status-text.ts";
import { z } from "zod";
import { FRESH_POLL_STATE, PollState } from "../turn/watching.ts";
import type { JobServiceAnswer } from "../ports/job-service.ts";
import { jobKey, projectKey, ProjectRef } from "../project.ts";
import { questionKey, type Question } from "../thread/question.ts";
import { hasStatusMessage, questionSlot, isOutcomeSlot, isPosted, outcomeSlot } from "../turn/delivery.ts";
import { isNoticeDue } from "../turn/overdue.ts";
import { shownPreview } from "../words/pull-request-text.ts";
import { nextNews } from "../turn/turn-pull-request.ts";
import { PrivateAnswer } from "../ports/notifier.ts";
import type { MessageRef } from "../turn/request.ts";

/**
 * The task that sends a turn: as a create or, for a follow-up, as a message to its job. Adding it
 * again brings it forward.
 */
export function submitTask(turn: Turn): NewTask {
  const { service } = turn.request.project;
  const type = isFollowUp(turn) ? "message" : "submit";
  return turnTask(type, turn, { partition: service, onDuplicate: "latest" });
}

export function openTask(turn: Turn): NewTask {
  return turnTask("open", turn, { onDuplicate: "pending" });
}

/** A task of which a turn has one, unless `more` says something else. */
function turnTask(type: string, turn: Turn, more: Partial<NewTask>): NewTask {
  return { id: `${type}:${turn.id}`, type, payload: turnPayload(turn), ...more };
}

/**
 * `turnId` is the turn that began the watch. The job's record says which turns are open.
 * `isFollowing` is true once the watch goes on for the job's pull request.
 */
export const WatchPayload = TurnPayload.extend({
  jobKey: z.string(),
  state: PollState,
  isFollowing: z.boolean().optional(),
});

export type WatchPayload = z.infer<typeof WatchPayload>;

/**
 * The task that watches a job, one per job. Adding it again brings the next poll forward.
 * `isFollowing` is true if only the job's pull request goes on.
 */
export function watchTask(turn: Turn, dueAt: number, isFollowing = false): NewTask {
  if (turn.job === null) throw new TypeError(`Turn ${turn.id} has no job to watch.`);
  const key = jobKey(turn.request.project, turn.job.id);
  const state = { jobKey: key, state: FRESH_POLL_STATE, ...(isFollowing && { isFollowing }) };
  const payload = { ...turnPayload(turn), ...state } satisfies WatchPayload;
  const { service } = turn.request.project;
  return { id: `watch:${key}`, type: "watch", partition: service, onDuplicate: "latest", dueAt, payload };
}

/** `quick` is how often in a row the feed answered at once that nothing has changed. */
export const FeedPayload = z.object({ project: ProjectRef, quick: z.number().int() });

/**
 * The task that reads a project's feed, to add whenever an answer announces level 1.
 * There is none if the project has moved to another address: its jobs are known under the old one.
 */
export function feedTasks(
  project: ProjectRef,
  service: string | undefined,
  { level = 0 }: Pick<JobServiceAnswer, "level">,
): NewTask[] {
  if (project.service !== service || level < 1) return [];
  const id = `feed:${projectKey(project)}`;
  const payload = { project, quick: 0 } satisfies z.infer<typeof FeedPayload>;
  return [{ id, type: "feed", partition: service, onDuplicate: "pending", payload }];
}

/** The task that cancels a watched turn, one per watch. */
export function cancelTask(turn: Turn): NewTask {
  const { service } = turn.request.project;
  const id = `cancel:${turn.id}:${turn.watch}`;
  return turnTask("cancel", turn, { id, partition: service, onDuplicate: "pending" });
}

/** `question` is its number among the turn's questions. */
export const QuestionPayload = TurnPayload.extend({ question: z.number().int() });

export type QuestionPayload = z.infer<typeof QuestionPayload>;

/**
 * The tasks to add whenever a turn's questions may have changed, one per message to post or update.
 */
export function questionTasks(turn: Turn): NewTask[] {
  // The status message comes first. In a thread of its own, it is the root.
  if (!hasStatusMessage(turn.delivery)) return [];
  return (turn.questions ?? [])
    .filter((question) => isToBeShown(turn, question))
    .map(({ number }) => ({
      id: `question:${turn.id}:${number}`,
      type: "question",
      onDuplicate: "latest",
      payload: { ...turnPayload(turn), question: number } satisfies QuestionPayload,
    }));
}

/**
 * True if a question's message has to be posted or updated. A question that closes before it is
 * posted isn't asked.
 */
export function isToBeShown(turn: Turn, question: Question | undefined): question is Question {
  if (question === undefined) return false;
  const isSent = turn.delivery.slots[questionSlot(question.number)] !== undefined;
  return isSent ? question.shown !== questionKey(question) : takesAnswers(turn, question);
}

export function answerTask(turn: Turn, number: number): NewTask {
  const { service } = turn.request.project;
  const payload = answerPayload(turn, number);
  return { id: `answer:${turn.id}:${number}`, type: "answer", partition: service, payload };
}

/** The task that tells whoever answered, privately, that the agent may not have got it. */
export function unheardTask(turn: Turn, number: number): NewTask {
  const payload = answerPayload(turn, number);
  return { id: `unheard:${turn.id}:${number}`, type: "unheard", payload };
}

/** A task about an answer is for whoever gave it. */
function answerPayload(turn: Turn, question: number): QuestionPayload {
  const { whose, ...payload } = turnPayload(turn);
  const userId = questionOf(turn, question)?.answer?.userId ?? whose.userId;
  return { ...payload, whose: { ...whose, userId, responseUrl: null }, question };
}

/**
 * The task to add whenever a turn may have become overdue or its notice may be out of date. There
 * is one notice per turn.
 */
function overdueTasks(turn: Turn): NewTask[] {
  // The status message comes first. In a thread of its own, it is the root.
  if (!hasStatusMessage(turn.delivery) || !isNoticeDue(turn)) return [];
  return [turnTask("overdue", turn, { onDuplicate: "latest" })];
}

export const DeliverPayload = TurnPayload.extend({ watch: z.number().int() });

export type DeliverPayload = z.infer<typeof DeliverPayload>;

/**
 * The task to add whenever a turn may be ready for its outcome: it has ended, and its status
 * message is posted. The task's id makes sure that each watch gets one outcome.
 */
export function deliverTasks(turn: Turn): NewTask[] {
  if (turn.stage.name !== "ended" || !hasStatusMessage(turn.delivery)) return [];
  if (isPosted(turn.delivery, outcomeSlot(turn.watch))) return [];
  const payload = { ...turnPayload(turn), watch: turn.watch } satisfies DeliverPayload;
  return [{ id: `deliver:${turn.id}:${turn.watch}`, type: "deliver", onDuplicate: "pending", payload }];
}

/**
 * The task to add whenever there may be news of a turn's pull request. One task tells them all, so
 * they keep their order. The outcome, which has the link, comes first.
 */
export function newsTasks(turn: Turn): NewTask[] {
  const { pullRequest, delivery } = turn;
  const isLinked = Object.keys(delivery.slots).some(
    (name) => isOutcomeSlot(name) && isPosted(delivery, name),
  );
  if (pullRequest === undefined || !isLinked || nextNews(pullRequest) === undefined) return [];
  return [turnTask("news", turn, { onDuplicate: "latest" })];
}

/** The task to add whenever the address of a pull request's preview may have changed. */
export function previewTasks(turn: Turn): NewTask[] {
  const { pullRequest } = turn;
  if (pullRequest === undefined || shownPreview(turn) === (pullRequest.previewAt?.url ?? null)) return [];
  return [previewTask(turn)];
}

/** The task that shows a turn's preview in the newest result of its job. */
export function previewTask(turn: Turn): NewTask {
  return turnTask("preview", turn, { onDuplicate: "latest" });
}

/**
 * The task that updates a status message, one per message. However much changes while it waits for
 * its slot, it shows the state when it runs.
 */
export function refreshTask(turn: Turn): NewTask {
  const turnId = turn.delivery.statusOf ?? turn.id;
  const payload: TurnPayload = { ...turnPayload(turn), turnId };
  return { id: `refresh:${turnId}`, type: "refresh", onDuplicate: "latest", payload };
}

/**
 * The task to add whenever a turn has changed. The update that shows that a turn has ended follows
 * its outcome.
 */
export function refreshTasks(turn: Turn): NewTask[] {
  const { shown, refusedUpdate } = turn.delivery;
  if (shown === null || shown === statusKey(turn)) return [];
  // A pull request changes seldom, so even a message that Slack refused to update is tried again.
  if (turn.stage.name === "ended") return turn.pullRequest === undefined ? [] : [refreshTask(turn)];
  return isOnlyStepNew(turn) && refusedUpdate !== undefined ? [] : [refreshTask(turn)];
}

/** The tasks for the messages of a turn that may be due, such as its outcome if it has ended. */
export function messageTasks(turn: Turn): NewTask[] {
  return [...deliverTasks(turn), ...questionTasks(turn), ...overdueTasks(turn), ...refreshTasks(turn)];
}

/**
 * The task to add when a turn begins or has ended: a reaction to the message that asked, if there
 * is one.
 */
export function reactTasks(turn: Turn): NewTask[] {
  if (askingMessage(turn.request) === null) return [];
  return [turnTask("react", turn, { onDuplicate: "latest" })];
}

/** The thread whose session is meant. */
export const SessionPayload = RateLimited.extend({
  teamId: z.string(),
  channelId: z.string(),
  ts: z.string(),
});

/**
 * The task that gives a thread's session its status, one per thread. Whatever changes while it
 * waits, it shows the state when it runs.
 */
export function sessionTask({ teamId, channelId, ts }: MessageRef): NewTask {
  const payload = { teamId, channelId, ts } satisfies z.infer<typeof SessionPayload>;
  const id = `session:${teamId}:${channelId}:${ts}`;
  return { id, type: "session", onDuplicate: "latest", payload };
}

/** The message to react to. */
export const ThankPayload = RateLimited.extend({ teamId: z.string(), channelId: z.string(), ts: z.string() });

/**
 * The task that answers thanks with a reaction, one per message. `cause` is derived from what Slack
 * sent.
 */
export function thankTask(cause: string, message: MessageRef): NewTask {
  const payload = message satisfies z.infer<typeof ThankPayload>;
  return { id: `thank:${cause}`, type: "thank", payload };
}

/** Where a person asked for something that is shown to them alone. */
const Asked = RateLimited.extend({
  teamId: z.string(),
  channelId: z.string(),
  threadTs: z.string().nullable(),
  userId: z.string(),
});

export const ReplyPayload = Asked.extend({ message: PrivateAnswer });

export type ReplyPayload = z.infer<typeof ReplyPayload>;

/** The task that answers a mention privately. `cause` is derived from what Slack sent. */
export function replyTask(cause: string, payload: ReplyPayload): NewTask {
  return { id: `reply:${cause}`, type: "reply", payload };
}

export const ListPayload = Asked.extend({
  responseUrl: z.string().nullable(),
  /** `standing` is the overview. */
  of: z.enum(["person", "channel", "standing"]),
  /** True for open pull requests, the person's own and the channel's. */
  isOpen: z.boolean().optional(),
  /** The number of newer requests to leave out. */
  from: z.number().int().min(0),
  /** True if somebody turns the pages of a list that is already there. */
  replaces: z.boolean(),
});

export type ListPayload = z.infer<typeof ListPayload>;

/**
 * The task that shows somebody their requests, the channel's, or an overview of both. `cause` is
 * derived from what Slack sent.
 */
export function listTask(cause: string, payload: ListPayload): NewTask {
  return { id: `list:${cause}`, type: "list", payload };
}

export const HomePayload = RateLimited.extend({ teamId: z.string(), userId: z.string() });

/** The task that shows a person's Home tab anew, one per person, with the state when it runs. */
export function homeTask(payload: z.infer<typeof HomePayload>): NewTask {
  const id = `home:${payload.teamId}:${payload.userId}`;
  return { id, type: "home", onDuplicate: "latest", payload };
}

export const CloseItPayload = Asked.extend({ responseUrl: z.string().nullable(), turnId: z.string() });

export type CloseItPayload = z.infer<typeof CloseItPayload>;

export const DiffPayload = CloseItPayload.extend({
  /** True if the person was told that it takes a moment. */
  isTold: z.boolean().optional(),
  /** Where the rest of a long change is. Absent until that is known. */
  rest: z.enum(["file", "page"]).optional(),
});

export type DiffPayload = z.infer<typeof DiffPayload>;

/** The task that shows somebody what a turn's job changes. `cause`: as for {@link listTask}. */
export function diffTask(cause: string, service: string, payload: DiffPayload): NewTask {
  return { id: `diff:${cause}`, type: "diff", partition: service, payload };
}

/** The task that closes a turn's pull request for somebody. `cause`: as for {@link listTask}. */
export function closeTask(cause: string, service: string, payload: CloseItPayload): NewTask {
  return { id: `close:${cause}`, type: "close", partition: service, payload };
}

export const WelcomePayload = Asked.omit({ threadTs: true });

/**
 * The task that welcomes a person, one per person, however often they open their direct messages
 * with the app.
 */
export function welcomeTask(payload: z.infer<typeof WelcomePayload>): NewTask {
  return { id: `welcome:${payload.teamId}:${payload.userId}`, type: "welcome", payload };
}
