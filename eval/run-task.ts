import { setTimeout as sleep } from "node:timers/promises";
import type { KnownTurn } from "../src/app/rules/known-job.ts";
import type { JobServiceAnswer } from "../src/app/rules/ports/job-service.ts";
import { DocsAgentError } from "../src/shared/errors.ts";
import { composePrompt } from "../src/app/rules/words/prompt.ts";
import type { Segment } from "../src/app/rules/turn/request.ts";
import { judgeApart } from "./judge-apart.ts";
import { answerTo, nextMessage } from "./person.ts";
import type { TaskRun } from "./report-schema.ts";
import type { Task } from "./task.ts";
import type { World } from "./world.ts";

const POLL_MS = 500;
/** The number of times in a row that the service may fail to answer. */
const MAX_FAULTS = 40;
const UNREACHED = new Set(["not-created", "unknown"]);
const CHANNEL = "C0EVALDOCS";
/** A fixed time, so that a prompt is the same in each run. */
const WRITTEN_AT_S = 1_790_000_000;

/** A run with its change as a patch. The patch is null if nothing changed. */
export type RanTask = { run: TaskRun; patch: string | null };

/** The job service doesn't answer anymore. Its runs are left for later. */
export class ServiceGoneError extends DocsAgentError {
  readonly code = "service_gone";
}

/**
 * Takes one task through the job service, with its follow-ups. If the same run is asked for again,
 * it goes on with the job that it began. A failure of the agent is a run without a result, and no
 * error. Resolves to null if the evaluation was stopped. Rejects with a {@link ServiceGoneError}.
 */
export async function runTask(
  world: World,
  task: Task,
  number: number,
  signal: AbortSignal,
): Promise<RanTask | null> {
  const service = world.of(task.name);
  const prompt = promptOf(task);
  const key = `${task.name}-${number}`;
  const created = await answered(() => service.createJob(prompt, key, { words: task.request }), signal);
  if (created === null) return null;
  if (!created.ok) return { run: withoutResult(task, number, created.fault.message), patch: null };
  const { id } = created.job;
  for (;;) {
    const answer = await answered(() => service.getJob(id), signal);
    if (answer === null) return null;
    if (!answer.ok) return { run: withoutResult(task, number, answer.fault.message), patch: null };
    for (const question of answer.report?.questions ?? []) {
      const said = question.answeredAt === null ? answerTo(question, task.answer ?? null) : null;
      // A fault is left: the question is still open at the next look then.
      if (said !== null) await service.answerQuestion(id, question.id, said);
    }
    const turns = answer.report?.turns ?? [];
    const newest = turns.at(-1);
    if (answer.job.status !== "active" && newest !== undefined) {
      const words = isResult(newest) ? nextMessage(task, turns) : null;
      if (words === null) return ended(world, task, number, id, turns);
      const followUp = promptOf({ request: words, quoted: [] });
      const sent = await answered(
        () => service.sendMessage(id, followUp, `${key}-${newest.number + 1}`, { words }),
        signal,
      );
      if (sent === null) return null;
      if (!sent.ok) return { run: withoutResult(task, number, sent.fault.message), patch: null };
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

/** The prompt that the Slack app would send for a request with quoted messages. */
export function promptOf({ request, quoted }: Pick<Task, "request" | "quoted">): string {
  const messages = quoted.map(({ from, text }, index) => ({
    segments: [{ kind: "text", text }] satisfies Segment[],
    authorId: null,
    authorName: from,
    ts: `${WRITTEN_AT_S + 60 * index}.000000`,
  }));
  const [picked, ...rest] = messages;
  const { prompt } = composePrompt(
    {
      instructions: request,
      quoted: picked === undefined ? null : { ...picked, channelId: CHANNEL, threadTs: null },
      context: { messages: rest, leftOut: 0 },
      channelId: CHANNEL,
    },
    {
      people: new Map(),
      channels: new Map([[CHANNEL, "docs-feedback"]]),
      groups: new Map(),
      permalink: null,
    },
  );
  return prompt;
}

/**
 * Calls the service, and repeats the call while the service can't be reached. Resolves to null if
 * the evaluation was stopped. Rejects with a {@link ServiceGoneError}.
 */
async function answered(
  ask: () => Promise<JobServiceAnswer>,
  signal: AbortSignal,
): Promise<JobServiceAnswer | null> {
  for (let faults = 0; ; faults += 1) {
    if (signal.aborted) return null;
    const answer = await ask();
    if (answer.ok || !UNREACHED.has(answer.fault.kind)) return answer;
    if (faults >= MAX_FAULTS) throw new ServiceGoneError(`The job service is gone: ${answer.fault.message}`);
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

async function ended(
  world: World,
  task: Task,
  number: number,
  jobId: string,
  turns: readonly KnownTurn[],
): Promise<RanTask> {
  const newest = turns.at(-1);
  const words = newest?.answer ?? newest?.summary ?? "";
  const used = usedBy(turns);
  if (newest === undefined || !isResult(newest)) {
    const why = newest?.reason ?? `The turn ended as ${newest?.outcome ?? "unknown"}.`;
    return { run: { ...withoutResult(task, number, why), words, ...used }, patch: null };
  }
  // What an earlier turn did is there, even if the newest one did nothing.
  const branch = turns.map(branchOf).findLast((each) => each !== null) ?? null;
  const result = branch === null ? task.base : await world.filesOn(task.name, branch);
  const claims = await world.claimsOf(jobId, newest.number);
  const judged = await judgeApart(task, { result, words, claims });
  if (judged === null) {
    const why = "The checks of what the agent made took longer than two minutes.";
    return { run: { ...withoutResult(task, number, why), words, ...used }, patch: null };
  }
  const { verdicts, patch } = judged;
  return {
    run: {
      ...withoutResult(task, number, null),
      ...used,
      outcome: branch === null ? "no-changes" : "pull-request",
      verdicts,
      words,
      claims,
      diff: patch === "" ? null : `runs/${task.name}-${number}.patch`,
    },
    patch: patch === "" ? null : patch,
  };
}

function branchOf({ pullRequest, branch }: KnownTurn): string | null {
  return pullRequest?.headRef ?? branch;
}

function isResult(turn: KnownTurn): boolean {
  return turn.outcome === "no-changes" || (turn.outcome === "pull-request" && branchOf(turn) !== null);
}

/** What all turns used. Null where it isn't known of one. */
function usedBy(turns: readonly KnownTurn[]) {
  const sum = (of: (turn: KnownTurn) => number | null | undefined) =>
    turns
      .map((turn) => of(turn) ?? null)
      .reduce((total, value) => (total === null || value === null ? null : total + value), 0);
  return {
    seconds: sum(({ startedAt, endedAt }) =>
      startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1000,
    ),
    calls: sum(({ usage }) => usage?.calls),
    inputTokens: sum(({ usage }) => usage?.inputTokens),
    cachedInputTokens: sum(({ usage }) => usage?.cachedInputTokens),
    outputTokens: sum(({ usage }) => usage?.outputTokens),
    usd: sum(({ usage }) => usage?.costUsd),
  };
}

/** A run without a result. */
export function withoutResult(
  { name }: Pick<Task, "name">,
  number: number,
  reason: string | null,
  outcome: "failed" | "not-run" = "failed",
): TaskRun {
  return {
    task: name,
    run: number,
    outcome,
    reason,
    verdicts: [],
    words: "",
    claims: null,
    seconds: null,
    calls: null,
    inputTokens: null,
    cachedInputTokens: null,
    outputTokens: null,
    usd: null,
    diff: null,
  };
}
