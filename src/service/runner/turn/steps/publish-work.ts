import { RefusedByCodeHostError } from "../../../pulls/code-host/github-fault.ts";
import { jobBranch } from "../../../config/branches.ts";
import type { HostedPullRequest } from "../../../pulls/code-host/github-code-host.ts";
import { findPulls } from "../../publish/branch-pulls.ts";
import { holdsPush, type Push, turnCommit } from "../../publish/earlier-push.ts";
import { RefConflictError } from "../../workspace/git/git-fault.ts";
import { firstOf, publish } from "../../publish/publish.ts";
import { countClaims } from "../../publish/checked-claim.ts";
import type { TurnWork } from "../../publish/turn-note.ts";
import { type TurnContext, type RunnerTurn, type Success, wordsOf } from "../../turn-context.ts";
import type { PushedWork } from "../turn-start.ts";
import { TAKEN_BACK_TEXT, type WholeChange } from "../../publish/whole-change.ts";
import { MAX_OVERLAPS } from "../../../../shared/contract/pull-request.ts";
import { overlapSentences } from "../../publish/overlaps-text.ts";
import { findOverlaps } from "./find-overlaps.ts";
import { describe, readChange } from "./describe.ts";
import { hostAfterPush } from "./await-branch.ts";
import { alreadyIn } from "./look-again.ts";
import { goOnAfterMerge } from "./push-work.ts";

/**
 * The result of a turn whose work is pushed. Finds or opens its pull request, if there is a code
 * host. Rejects with a `RefConflictError` if somebody took the work out of the branch.
 */
export async function publishWork(turn: RunnerTurn, given: TurnContext, found: PushedWork): Promise<Success> {
  const { mirror, redact, signal } = given;
  const { project, jobId } = turn;
  const branch = jobBranch(project.pullRequests.branchPrefix, jobId);
  if (!found.push.isInBase) given.report({ branch });
  // The attempt that pushed it may have died before it said so.
  if (found.push.note?.isPushed === true) given.report({ pushed: found.push.note.commit });
  const codeHost = given.codeHost && hostAfterPush(given.codeHost, found.push.note, given);
  const context = { ...given, codeHost };
  if (codeHost === null) {
    const reason = whyNothingIsLeft(turn, await readChange(turn, context, found.commit, null));
    return reason === null
      ? { kind: "branch", branch, ...toldOf(found) }
      : { kind: "no-changes", reason, ...toldOf(found) };
  }
  const { baseBranch } = project;
  const find = () => findPulls(turn, context, found.push.note);
  const pulls = await find();
  const pushed = await goOnAfterMerge(turn, context, found, pulls);
  if (pushed === null) return { kind: "no-changes", reason: alreadyIn(turn), ...toldOf(found) };
  const { commit, checks, notes, push } = pushed;
  const told = toldOf(pushed);
  const isTurns = (pull: HostedPullRequest) => mirror.use(() => holdsPush(mirror, jobId, pull, push));
  if (push.isInBase && (await firstOf(pulls.own, isTurns)) === null) {
    return { kind: "no-changes", reason: alreadyIn(turn), ...told };
  }
  if (pulls.open !== null && pulls.open.headSha !== commit) await assertOnBranch(turn, context, push);
  context.onProgress("opening the pull request");
  const { template, ...described } = await describe(turn, context, pushed, pulls.mergedHead);
  const openBefore = push.note?.openPull ?? null;
  const overlaps = await findOverlaps(turn, context, commit);
  const published = await publish({
    codeHost,
    branch,
    baseBranch,
    commit,
    pulls,
    findPulls: find,
    isTurns,
    openBefore,
    settings: project.pullRequests,
    hasBlockingFindings: pushed.hasBlockingFindings,
    template,
    turn: { checks, overlaps, ...toldTurn(turn, described) },
    redact,
    apart: context.apart,
    signal,
  }).catch(async (error: unknown) => {
    if (error instanceof RefusedByCodeHostError) await assertOnBranch(turn, context, push);
    throw error;
  });
  if (published === "nothing-left") {
    return { kind: "no-changes", reason: whyNothingIsLeft(turn, described.change), ...told };
  }
  if (published === "closed") {
    const note = `#${openBefore} was closed without merging, so no new pull request was opened.`;
    return { kind: "branch", branch, ...told, notes: [...notes, note] };
  }
  const sameLines = overlaps.filter(({ isSameLines }) => isSameLines).slice(0, MAX_OVERLAPS);
  const pullRequest = {
    ...published.pullRequest,
    ...(sameLines.length > 0 && { overlaps: sameLines.map(({ url }) => url) }),
  };
  const isNew = pulls.open === null && pullRequest.state === "open";
  if (isNew && pullRequest.headSha !== commit) await assertOnBranch(turn, context, push);
  const all = [...notes, ...overlapSentences(overlaps), ...published.notes.map((note) => redact(note))];
  return { kind: "pull-request", prLink: pullRequest.url, pullRequest, ...told, notes: all };
}

type Described = Omit<Awaited<ReturnType<typeof describe>>, "template">;

/**
 * What the pull request's text is made from. An update of the branch adds nothing to say, so the
 * text stays that of the newest turn before it that is part of the change.
 */
function toldTurn(turn: RunnerTurn, described: Described) {
  const told = { ...wordsOf(turn), ...described };
  if (turn.kind !== "update") return told;
  const { earlierTurns, change } = described;
  const firstNumber = turn.number - earlierTurns.length;
  const at = earlierTurns.findLastIndex((_, index) => change?.turns.has(firstNumber + index) === true);
  const last = earlierTurns[at];
  if (last === undefined) return told;
  return { ...told, ...last, number: firstNumber + at, earlierTurns: earlierTurns.slice(0, at) };
}

/** Why the branch changes nothing, for people. Null if it changes something. */
function whyNothingIsLeft(turn: RunnerTurn, change: WholeChange | null): string | null {
  switch (change?.nothingLeft) {
    case "taken-back":
      return TAKEN_BACK_TEXT;
    case "in-base":
      return alreadyIn(turn);
    default:
      return null;
  }
}

/** What is told of the work itself. */
function toldOf({ summary, leftOut, checks, claims, context, notes }: TurnWork) {
  return { summary, leftOut, checks, claims: countClaims(claims), context, notes };
}

/** The turn's text must not stand at what somebody put in the place of its work. */
async function assertOnBranch(
  { jobId, project }: RunnerTurn,
  { mirror }: TurnContext,
  { turnKey }: Push,
): Promise<void> {
  const found = await mirror.fetch({ ...project, jobId }, async () => {
    const { base, job } = await mirror.tips(jobId);
    return job === null ? undefined : turnCommit(mirror, { jobId, turnKey }, { base, tip: job });
  });
  if (found === undefined) throw new RefConflictError("The branch changed meanwhile.");
}
