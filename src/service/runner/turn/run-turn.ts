import { TurnFailedError } from "../../base/run-error.ts";
import { sentenceCase } from "../../base/printable-text.ts";
import { isBaseBranch, isJobId } from "../../config/branches.ts";
import { type BranchPulls, branchPulls, findPulls } from "../publish/branch-pulls.ts";
import { findEarlierPush, turnKeyOf } from "../publish/earlier-push.ts";
import { RefConflictError } from "../workspace/git/git-fault.ts";
import { withMessage } from "../workspace/git/objects.ts";
import type { CheckedClaim } from "../publish/checked-claim.ts";
import {
  readTurnNote,
  turnsBefore,
  TurnWork,
  type Withheld,
  writeAnswerSources,
} from "../publish/turn-note.ts";
import { allowPublishing } from "./steps/allow-publishing.ts";
import { commitWords } from "./steps/commit-words.ts";
import { withoutOthers } from "./steps/describe.ts";
import { addressReviews } from "./steps/address-reviews.ts";
import { NO_ANSWERS, type ReadAnswers } from "./steps/note-answers.ts";
import { assertSeen } from "./steps/await-branch.ts";
import { lookAgain } from "./steps/look-again.ts";
import { keepSession } from "./steps/keep-session.ts";
import { toldTexts } from "./steps/told-texts.ts";
import { bringUpToDate } from "./steps/bring-up-to-date.ts";
import { keepEarlier } from "./steps/keep-earlier.ts";
import { openContexts } from "./steps/open-contexts.ts";
import { openTree } from "./steps/open-tree.ts";
import { pushWork } from "./steps/push-work.ts";
import { publishWork } from "./steps/publish-work.ts";
import { readOthersChanges } from "./steps/read-others-changes.ts";
import { reportNothing } from "./steps/report-nothing.ts";
import { workInRounds } from "./steps/work-in-rounds.ts";
import type { TurnContext, RunnerTurn, Success } from "../turn-context.ts";
import type { TurnStart } from "./turn-start.ts";

/**
 * Runs one turn: prepare, work, check, publish, report. Rejects with a `TurnFailedError`, a
 * `TransientRunError`, or the signal's reason. If it is run again after a crash, it starts over,
 * unless the turn's commit was already pushed. Then only the pull request is left to do, and no
 * agent runs a second time.
 */
export async function runTurn(turn: RunnerTurn, context: TurnContext): Promise<Success> {
  assertNames(turn);
  const start = await prepareTurn(turn, context);
  if (turn.kind === "update") return bringUpToDate(turn, context, start);
  if (turn.kind === "address") {
    return addressReviews(turn, context, start, (asked, readAnswers) =>
      workOn(asked, context, start, readAnswers),
    );
  }
  if (start.pushed !== null) return publishWork(turn, context, start.pushed);
  return workOn(turn, context, start, async () => NO_ANSWERS);
}

/** Does what follows a turn's preparation, from the agent's work on. */
async function workOn(
  turn: RunnerTurn,
  context: TurnContext,
  start: TurnStart,
  readAnswers: ReadAnswers,
): Promise<Success> {
  using opened = await openContexts(turn, context);
  const { contexts } = opened;
  using tree = await openTree(context, start.commit, turn.jobId);
  const asked = { ...turn, othersChanges: await readOthersChanges(turn, context, start) };
  const { ran, answers: content, ...work } = await workInRounds(tree, asked, context, { ...start, contexts });
  const { commit } = work;
  const read = { ...opened.read, notes: [...opened.read.notes, ...work.notes] };
  const answers = await readAnswers({ content, from: tree.commit, to: commit });
  if (commit === null) {
    const result = { ...reportNothing(ran, work), ...read };
    if (work.leftOut.length === 0) await keepSession(turn, context, ran);
    await noteSources(turn, context, work.claims);
    await answers.withoutPush(result, contexts);
    return result;
  }

  const unpublished = { kind: "no-changes" as const, summary: null, leftOut: work.leftOut, ...read };
  const summary = ran.summary === null ? null : context.redact(ran.summary);
  const earlier = await keepEarlier(start.earlier, { from: start.base, to: commit }, turn, context);
  const told = [...toldTexts(turn, { ...work, summary, earlier }), ...answers.told];
  const { isAllowed, withheld } = await allowPublishing(turn, context, {
    from: tree.commit,
    commit,
    contexts,
    told,
  });
  if (!isAllowed) {
    const reason = "Nothing was published. To change the docs without these words, ask again in your own.";
    return { ...unpublished, reason };
  }
  const toPush = await withOwnMessage(turn, context, { commit, summary, withheld });
  const made = { ...work, ...read, commit: toPush, summary, withheld, earlier };
  const ready = await lookAgain(turn, context, start, made);
  if (ready.kind === "unwanted") return { ...unpublished, reason: ready.reason };
  await answers.beforePush(ready.work.commit, withheld);
  const pushed = await pushWork(turn, context, ready.start, ready.work);
  answers.afterPush();
  // An agent should only remember work that the next turn will find done.
  await keepSession(turn, context, ran);
  return await publishWork(turn, context, pushed);
}

/** What an answer rests on is kept as what a change does. */
async function noteSources(
  turn: RunnerTurn,
  { notes }: TurnContext,
  claims: readonly CheckedClaim[] | null,
): Promise<void> {
  if (claims === null) return;
  const sources = { version: 1 as const, turnKey: turnKeyOf(turn), claims: [...claims] };
  await writeAnswerSources(notes, sources);
}

/** A commit's message is copied further than the pull request, and can't be taken back. */
async function withOwnMessage(
  turn: RunnerTurn,
  context: TurnContext,
  { commit, summary, withheld }: { commit: string; summary: string | null; withheld: Withheld },
): Promise<string> {
  const own = withoutOthers(summary, withheld);
  if (own === summary) return commit;
  const words = await commitWords(turn, context, own);
  return context.mirror.use((git) => withMessage(git, commit, words));
}

/**
 * Throws unless the job's id can be part of a branch and a folder, and the project's branch can be
 * a base.
 */
function assertNames({ jobId, project }: RunnerTurn): void {
  if (!isJobId(jobId)) {
    throw new TurnFailedError(`The job id ${JSON.stringify(jobId.slice(0, 100))} cannot name a branch.`);
  }
  if (!isBaseBranch(project.baseBranch, project.pullRequests.branchPrefix)) {
    const named = JSON.stringify(project.baseBranch.slice(0, 100));
    throw new TurnFailedError("The project's base branch isn't set up correctly.", {
      details: [`${named} can't be a base branch. Correct the project's baseBranch.`],
    });
  }
}

/** Updates the mirror, and finds out where the turn starts. */
async function prepareTurn(turn: RunnerTurn, context: TurnContext): Promise<TurnStart> {
  const { mirror, notes, clock, logger } = context;
  const { jobId, number, project } = turn;
  const doing = "fetching the repository";
  context.onProgress(doing);
  // Only people see how far it is, the operator's lines would be full of it.
  const tell = (far: string) => context.report({ step: sentenceCase(`${doing}: ${far}`) });
  const start = await mirror.fetch({ ...project, jobId, tell }, async (): Promise<TurnStart> => {
    const { base, job } = await mirror.tips(jobId);
    const note = await readTurnNote(notes);
    const turnKey = turnKeyOf(turn);
    let asked: Promise<BranchPulls> | undefined;
    const findOnce = () => (asked ??= findPulls(turn, context, note?.turnKey === turnKey ? note : null));
    const findOwn = async () => (await findOnce()).own;
    const earlier = await findEarlierPush({ mirror, jobId, turnKey, base, tip: job, note, findOwn });
    if (earlier === null && note?.turnKey === turnKey) assertSeen(note, clock);
    // Without a code host, only git itself could have merged it.
    const isAsked = earlier === null && (job !== null || number > 1);
    const pulls = isAsked ? await findOnce() : branchPulls(turn, []);
    const mergeBase = job === null ? null : await mirror.mergeBase(base, job);
    const earlierTurns = turnsBefore(note, turnKey);
    const start = {
      commit: job ?? base,
      base: mergeBase ?? base,
      job,
      pulls,
      earlier: earlierTurns,
      pushed: null,
    };
    if (earlier !== null) {
      logger.info({}, "turn was pushed before, only the pull request is left");
      const work = earlier.note ?? TurnWork.parse({ commit: earlier.commit });
      return { ...start, pushed: { ...work, commit: job ?? earlier.commit, push: earlier } };
    }
    return start;
  });
  if (start.pushed !== null || start.job === null || !start.pulls.areDoneAt(start.job)) return start;
  // Merged work is in the base branch, perhaps as a different commit, so a new pull request starts
  // from there. It may have been merged since we fetched that.
  const { base, job } = await mirror.fetch({ ...project, jobId }, () => mirror.tips(jobId));
  if (job !== null && job !== start.job) throw new RefConflictError("The branch changed meanwhile.");
  return { ...start, job, commit: base, base };
}
