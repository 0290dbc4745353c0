import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Usage } from "../../../../shared/contract/turn.ts";
import { readAnswersFile } from "../../answers-file.ts";
import { removeFolder } from "../../workspace/folders.ts";
import { type CheckedClaim, joinedClaims } from "../../publish/checked-claim.ts";
import { type AgentRunResult, type SecondRound, runAgent } from "./run-agent.ts";
import { operatorText, TurnFailedError } from "../../../base/run-error.ts";
import { sumOf } from "../../runner.ts";
import type { OpenContext, TurnContext, RunnerTurn } from "../../turn-context.ts";
import { type ChecksResult, runChecks } from "./run-checks.ts";
import { checkClaims } from "./check-claims.ts";
import { changedPaths } from "../../workspace/git/objects.ts";
import { type CommittedWork, commitWork, withoutFiles } from "./commit-work.ts";
import type { TurnTree } from "./open-tree.ts";
import type { TurnStart } from "../turn-start.ts";

/** Where a round works. `base` is the commit that all of the job's changes start from. */
type Place = { tree: TurnTree; base: string; contexts: readonly OpenContext[] };

/** The result of one run of the agent. */
type Round = CommittedWork & {
  ran: AgentRunResult;
  claims: CheckedClaim[] | null;
  /** What the agent wrote about comments, or null. */
  answers: Buffer | null;
};

/** The result of a turn's agent, after one or two rounds. */
export type Worked = Round &
  Omit<ChecksResult, "blocking"> & {
    /** True if the second round left nothing of what the first one changed. */
    isTakenBack: boolean;
  };

/**
 * Runs the turn's agent, and the project's checks on its work. Blocking findings go back to the
 * agent, once, and so does what `find` says of its commit. Rejects as `runAgent` and `commitWork`
 * do. But if the second round fails, the first round's work isn't lost, without the files that the
 * second one took back.
 */
export async function workInRounds(
  tree: TurnTree,
  turn: RunnerTurn,
  context: TurnContext,
  {
    base,
    contexts,
    find = async () => "",
  }: Pick<TurnStart, "base"> & {
    contexts: readonly OpenContext[];
    find?: (commit: string) => Promise<string>;
  },
): Promise<Worked> {
  const { agent } = turn.project;
  const meter = createMeter(context);
  context.onProgress("the agent is working");
  const first = await round({ tree, base, contexts }, turn, meter.context, null);
  const timeLimitMinutes = agent.timeLimitMinutes - meter.spentMs() / 60_000;
  const { commit } = first;
  const nothing = { checks: [], hasBlockingFindings: false };
  if (commit === null) return { ...first, ...nothing, isTakenBack: false };
  const { blocking, ...checked } = await runChecks(turn, context, { base, commit });
  const worked = { ...first, ...checked, isTakenBack: false };
  const findings = (await find(commit)) + blocking;
  if (findings === "" || timeLimitMinutes <= 0) return worked;

  context.onProgress("the agent is working on what the checks found");
  try {
    const rest = {
      ...turn,
      usedBefore: sumOf(turn.usedBefore, meter.used()),
      project: { ...turn.project, agent: { ...agent, timeLimitMinutes } },
    };
    const second = await workAgain({ tree, base, contexts }, rest, meter.context, first, findings);
    if (second.commit === null) return { ...second, ...nothing, isTakenBack: true };
    const again = await runChecks(turn, context, { base, commit: second.commit, earlier: checked.checks });
    const { checks, hasBlockingFindings } = again;
    return { ...second, checks, hasBlockingFindings, isTakenBack: false };
  } catch (error) {
    context.signal.throwIfAborted();
    context.logger.warn({ problem: context.redact(operatorText(error)) }, "the second round failed");
    const kept = { ...worked, commit, ran: withoutSession(first.ran) };
    const takenBack = await takenBackFiles(tree, turn, context, commit);
    if (takenBack.size === 0) return kept;
    // What the first round said holds for all of its files, so it isn't told of some.
    const ran = { ...kept.ran, summary: null };
    const rest = {
      ...kept,
      ...(await withoutFiles(tree, kept, takenBack, turn, context)),
      ran,
      claims: kept.claims?.filter(({ page }) => !takenBack.has(page)) ?? null,
    };
    if (rest.commit === null) return { ...rest, ...nothing, isTakenBack: true };
    const { checks, hasBlockingFindings } = await runChecks(turn, context, { base, commit: rest.commit });
    return { ...rest, checks, hasBlockingFindings };
  }
}

/**
 * The files of the first round that a failed second one has put back as they were before. None if
 * what it left can't be looked through.
 */
async function takenBackFiles(
  { folders, ...tree }: TurnTree,
  turn: RunnerTurn,
  context: TurnContext,
  commit: string,
): Promise<ReadonlySet<string>> {
  const { mirror } = context;
  const scratch = join(folders.scratch, "left");
  await mkdir(scratch, { mode: 0o700 });
  try {
    const left = await commitWork({ ...tree, folders: { ...folders, scratch } }, null, turn, context);
    return await mirror.use(async (git) => {
      const still = left.commit === null ? [] : await changedPaths(git, tree.commit, left.commit);
      const kept = new Set(still);
      const changed = await changedPaths(git, tree.commit, commit);
      return new Set(changed.filter((path) => !kept.has(path)));
    });
  } catch (error) {
    if (!(error instanceof TurnFailedError)) throw error;
    return new Set();
  }
}

const NOTHING: CommittedWork = { commit: null, files: 0, leftOut: [], notes: [] };

/** Runs the agent and checks what it left. */
async function round(
  place: Place,
  turn: RunnerTurn,
  context: TurnContext,
  again: SecondRound | null,
): Promise<Round> {
  const { tree, contexts } = place;
  context.report({ agentRuns: true });
  const ran = await runAgent(tree.folders, turn, context, contexts, again);
  // Whatever an agent does that was only asked, nothing of it is kept.
  const committed = turn.kind === "ask" ? NOTHING : await commitWork(tree, ran.summary, turn, context);
  const { commit } = committed;
  const { seenAt } = ran;
  const claims = await checkClaims({ ...place, commit, seenAt }, turn, context);
  const answers = turn.kind === "address" ? await readAnswersFile(tree.folders.tmp) : null;
  return { ...committed, ran, claims, answers };
}

/** What the first round said holds for its own files only, so it is kept only if these are. */
async function workAgain(
  { tree: { folders, ...tree }, ...place }: Place,
  turn: RunnerTurn,
  context: TurnContext,
  first: Round,
  findings: string,
): Promise<Round> {
  await removeFolder(folders.tmp);
  await mkdir(folders.tmp, { mode: 0o700 });
  const scratch = join(folders.scratch, "second");
  await mkdir(scratch, { mode: 0o700 });
  const again = { findings, session: first.ran.session };
  const where = { ...place, tree: { ...tree, folders: { ...folders, scratch } } };
  const second = await round(where, turn, context, again);
  const refused = [...new Set([...first.ran.refused, ...second.ran.refused])];
  const ran = { ...second.ran, refused };
  const touched = await touchedFiles(first, second, context);
  const claims = touched === null ? second.claims : claimsOfBoth(first, second, touched);
  const answers = second.answers ?? first.answers;
  if (touched?.size !== 0 || ran.summary !== null) return { ...second, ran, claims, answers };
  return { ...second, commit: first.commit, ran: { ...ran, summary: first.ran.summary }, claims, answers };
}

/** The files that a second round has different from the first. Null if either changed nothing. */
async function touchedFiles(
  { commit: from }: Round,
  { commit: to }: Round,
  { mirror }: TurnContext,
): Promise<ReadonlySet<string> | null> {
  if (from === null || to === null) return null;
  return new Set(await mirror.use((git) => changedPaths(git, from, to)));
}

/** A second round's claims, and those of the first one about pages that it left as they were. */
function claimsOfBoth(first: Round, second: Round, touched: ReadonlySet<string>): Round["claims"] {
  if (first.claims === null) return second.claims;
  const still = first.claims.filter(({ page }) => !touched.has(page));
  return joinedClaims([still, second.claims ?? []]);
}

/** A session that knows of a round whose work was dropped would mislead the job's next turn. */
function withoutSession(ran: AgentRunResult): AgentRunResult {
  return { ...ran, keepSession: async () => {} };
}

/** Measures what the rounds use, without the time that people take to answer. */
function createMeter(context: TurnContext) {
  const { clock, ask, report } = context;
  const startedAtMs = clock.monotonicMs();
  let askedMs = 0;
  let before: Usage | null = null;
  let used: Usage | null = null;
  const measured: TurnContext = {
    ...context,
    report: ({ usage, ...others }) => {
      if (others.agentRuns === true) before = used;
      // The cost that an agent states itself doesn't replace what was counted.
      const isNew = usage !== undefined && (usage.calls !== null || used?.calls == null);
      if (isNew) used = sumOf(before, usage);
      report({ ...others, ...(isNew && used !== null && { usage: used }) });
    },
    ask: async (question) => {
      const askedAtMs = clock.monotonicMs();
      const answer = await ask(question);
      askedMs += clock.monotonicMs() - askedAtMs;
      return answer;
    },
  };
  return { context: measured, used: () => used, spentMs: () => clock.monotonicMs() - startedAtMs - askedMs };
}
