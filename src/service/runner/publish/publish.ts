import { lenient } from "../../../shared/contract/lenient.ts";
import { LeftPullRequest, type PullRequestPage } from "../../../shared/contract/pull-request.ts";
import { redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { TransientRunError } from "../../base/run-error.ts";
import type { HostedPullRequest, PullRequestHost } from "../../pulls/code-host/github-code-host.ts";
import { RefusedByCodeHostError } from "../../pulls/code-host/github-fault.ts";
import type { ServiceProject } from "../../config/config.ts";
import type { BranchPulls } from "./branch-pulls.ts";
import type { TurnContext } from "../turn-context.ts";
import { saysOurDraft } from "./our-parts.ts";
import type { TurnText } from "./pull-request-text.ts";
import { isNothingLeft } from "./whole-change.ts";

/** GitHub's own limit. */
const MAX_TITLE_LENGTH = 256;
const DRAFTED = "This is a draft because a check found something new.";
const LOOK_FIRST = "A check found something new. Look at it before you merge.";
const STILL_DRAFT = "The pull request is still a draft. Mark it as ready for review.";
const NO_ROOM = "The pull request's text is too long for this turn's part, so it stays as it is.";
const NOT_A_DRAFT = "The pull request isn't a draft, because this repository doesn't have drafts.";
const NO_DRAFTS = "Drafts aren't available in this repository, so this is open as usual.";

export type PublishInput = {
  codeHost: PullRequestHost;
  branch: string;
  baseBranch: string;
  /** The branch's newest commit. */
  commit: string;
  /** The branch's pull requests. */
  pulls: BranchPulls;
  /** Asks for them again. */
  findPulls: () => Promise<BranchPulls>;
  /**
   * True if a pull request that is no longer open contains the turn's commit, as far as is known
   * besides its newest commit.
   */
  isTurns: (pull: HostedPullRequest) => Promise<boolean>;
  /** The branch's open pull request before the turn. Null if there was none, or it isn't known. */
  openBefore: number | null;
  settings: ServiceProject["pullRequests"];
  /** True if the checks' findings make it a draft. */
  hasBlockingFindings: boolean;
  /** The repository's own template, or null if it has none. */
  template: string | null;
  turn: Omit<TurnText, "caution" | "isOurDraft">;
  redact: Redact;
  apart: TurnContext["apart"];
  signal: AbortSignal;
};

/** The pull request, and a sentence for each setting that the code host refused. */
export type Published = { pullRequest: LeftPullRequest; notes: string[] };

/**
 * Makes sure that the job's branch has one open pull request with the turn's text, and resolves to
 * it. Safe to repeat, because the pull request is found by its branch. One that was closed or
 * merged stays as it is, and another is opened, unless it already contains this turn's commit.
 * Resolves to "closed" if a person closed it at the last moment, before it contained that, and to
 * "nothing-left" if one that would change nothing would have to be opened.
 */
export async function publish(input: PublishInput): Promise<Published | "closed" | "nothing-left"> {
  const { commit, isTurns, openBefore, redact } = input;
  let { pulls } = input;
  // Tries twice, because somebody may open or close one between our look and our creation.
  for (let attempt = 0; attempt < 2; attempt++) {
    if (attempt > 0) pulls = await input.findPulls();
    const { own, open } = pulls;
    const ended =
      open === null ? (own.find(({ headSha }) => headSha === commit) ?? (await firstOf(own, isTurns))) : null;
    if (open === null && ended?.state !== "merged" && isNothingLeft(input.turn.change)) return "nothing-left";
    if (ended !== null) return { pullRequest: reported(ended, redact), notes: [] };
    const isClosed = own.some(({ number, state }) => number === openBefore && state === "closed");
    if (open === null && isClosed) return "closed";
    const opened = open === null ? await create(input) : await update(open, input);
    if (opened === null) continue;
    const isNew = opened.pullRequest.number !== openBefore;
    const refused = isNew ? await decorate(opened.pullRequest, input) : [];
    const isEmpty = isNothingLeft(input.turn.change);
    const pullRequest = {
      ...reported(opened.pullRequest, redact),
      ...(isEmpty ? { isEmpty } : { pages: opened.pages }),
    };
    return { pullRequest, notes: [...opened.notes, ...refused] };
  }
  throw new TransientRunError("The code host says that the pull request exists, but does not list it.");
}

/** The first pull request for which this holds, or null. */
export async function firstOf(
  pulls: readonly HostedPullRequest[],
  holds: (pull: HostedPullRequest) => Promise<boolean>,
): Promise<HostedPullRequest | null> {
  for (const pull of pulls) if (await holds(pull)) return pull;
  return null;
}

type Found = { pullRequest: HostedPullRequest; pages: PullRequestPage[]; notes: string[] };

/** Resolves to null if there is an open one already. */
async function create(input: PublishInput): Promise<Found | null> {
  const { codeHost, branch, baseBranch, settings, hasBlockingFindings, template, apart, signal } = input;
  const wantsDraft = settings.draft || hasBlockingFindings;
  for (const isDraft of wantsDraft ? [true, false] : [false]) {
    const isRefused = wantsDraft && !isDraft;
    const caution = hasBlockingFindings ? (isDraft ? DRAFTED : `${NO_DRAFTS} ${LOOK_FIRST}`) : null;
    const turn = textOf(input, {
      caution: caution ?? (isRefused ? NO_DRAFTS : null),
      isOurDraft: isDraft && !settings.draft,
    });
    const text = { turn, titleTemplate: settings.titleTemplate, template };
    const { title, body, pages } = await apart.read("newPullRequestText", text);
    const pull = { branch, base: baseBranch, title, body, isDraft };
    const created = await codeHost.create(pull, signal);
    if (created === "exists") return null;
    if (created !== "no-drafts")
      return { pullRequest: created, pages, notes: isRefused ? [NOT_A_DRAFT] : [] };
  }
  throw new TransientRunError("The code host doesn't open the pull request.");
}

/** Writes what this turn adds, and nothing over what people wrote. */
async function update(found: HostedPullRequest, input: PublishInput): Promise<Found> {
  const { codeHost, settings, hasBlockingFindings, apart, signal } = input;
  const wasOurDraft = found.isDraft && saysOurDraft(found.body);
  const { nodeId } = found;
  const isEmpty = isNothingLeft(input.turn.change);
  const marksReady = wasOurDraft && !hasBlockingFindings && !isEmpty && nodeId !== null;
  // Marked ready before the text changes. If the turn is interrupted in between, its next attempt
  // finds it ready.
  const isReady = marksReady && (await codeHost.markReady(nodeId, signal).then(() => true, falseIfRefused));
  const isOurDraft = wasOurDraft && !isReady;
  const caution = hasBlockingFindings ? (found.isDraft ? DRAFTED : LOOK_FIRST) : null;
  const turn = textOf(input, { caution, isOurDraft });
  const { title, body, pages } = await apart.read("changedPullRequestText", {
    turn,
    titleTemplate: settings.titleTemplate,
    found: { title: found.title, body: found.body },
  });
  const texts = { ...(body !== null && { body }), ...(title !== null && { title }) };
  const pullRequest = await codeHost.change(found.number, texts, signal);
  const notes = isOurDraft && !hasBlockingFindings && !isEmpty ? [STILL_DRAFT] : [];
  return { pullRequest, pages, notes: body === null ? [...notes, NO_ROOM] : notes };
}

function falseIfRefused(error: unknown): false {
  if (error instanceof RefusedByCodeHostError) return false;
  throw error;
}

function textOf({ turn }: PublishInput, draft: Partial<TurnText> = {}): TurnText {
  return { caution: null, isOurDraft: false, ...turn, ...draft };
}

/** Cuts to size what the code host has. */
const CutPullRequest = lenient(LeftPullRequest);

function reported(pullRequest: HostedPullRequest, redact: Redact): LeftPullRequest {
  // People may have written another title.
  const title = redactedLine(redact, pullRequest.title, MAX_TITLE_LENGTH);
  return CutPullRequest.parse({ ...pullRequest, title });
}

/**
 * Puts the settings' labels, assignees and reviewers on a pull request, one at a time: if the code
 * host refuses one, it still takes the others. Resolves to a sentence for each refusal. The pull
 * request stays open without them.
 */
async function decorate(
  { number }: HostedPullRequest,
  { codeHost, settings, signal }: PublishInput,
): Promise<string[]> {
  const notes: string[] = [];
  for (const kind of ["labels", "assignees", "reviewers"] as const) {
    const refused: string[] = [];
    for (const name of settings[kind]) {
      const isTaken = await codeHost.decorate(number, kind, name, signal).catch(falseIfRefused);
      if (!isTaken) refused.push(name);
    }
    if (refused.length > 0) notes.push(`The code host refused the ${kind}: ${refused.join(", ")}.`);
  }
  return notes;
}
