import { composePrompt, idsToName } from "../core/prompt.ts";
import type { Names } from "../core/prompt.ts";
import type { QuotedMessage } from "../core/request.ts";
import { statusKey } from "../core/status-text.ts";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import { afterSubmit, beforeSubmit, endTurn } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import type { Directory } from "../core/notifier.ts";
import type { TaskDeps } from "./deps.ts";
import { finish } from "./finish.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { pollTask } from "./poll.ts";
import { refreshTask } from "./refresh.ts";
import { requireTurn } from "./require-turn.ts";

export function submitTask(turn: Turn): NewTask {
  return {
    id: `submit:${turn.id}`,
    type: "submit",
    payload: turnPayload(turn),
  };
}

/**
 * Creates the job: at most once per turn. That the create is on its way is saved before it is sent; a run that finds this and
 * no answer ends the turn as `unknown`. The answer is saved before anyone is told.
 */
export async function submit(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { turnId } = TurnPayload.parse(task.payload);
  const turn = await requireTurn(deps, turnId);
  const next = beforeSubmit(turn, deps.clock.now(), deps.polling);
  switch (next.kind) {
    case "ended":
      return finish(deps, next.turn);
    case "watching":
      return watch(deps, next.turn);
    case "create":
      return create(deps, task, turn, next.turn);
  }
}

async function create(deps: TaskDeps, task: Task, turn: Turn, submitting: Turn): Promise<TaskResult> {
  const { request } = turn;
  const jobService = deps.jobServices.get(request.project);
  if (jobService === undefined) {
    deps.logger.error({ project: request.project }, "the project of this request is no longer configured");
    return finish(deps, endTurn(turn, "rejected", deps.clock.now(), { reason: "project" }));
  }
  const prompt = composePrompt(request, await namesFor(deps.directory, request.teamId, request.quoted));

  await deps.records.turns.set(turn.id, submitting);
  const answer = await jobService.createJob(prompt, turn.id);
  if (!answer.ok) deps.logger.warn({ fault: answer.fault }, "create did not succeed");

  const next = afterSubmit(turn, answer, {
    now: deps.clock.now(),
    attempt: task.attempt,
    random: deps.random(),
    policy: deps.polling,
  });
  switch (next.kind) {
    case "ended": {
      const { job } = next.turn;
      const logger = job === null ? deps.logger : deps.logger.child({ job_id: job.id });
      return finish({ ...deps, logger }, next.turn);
    }
    case "watching":
      await deps.records.turns.set(turn.id, next.turn);
      return watch(deps, next.turn);
    case "later": {
      await deps.records.turns.set(turn.id, next.turn);
      const now = deps.clock.now();
      if (statusKey(next.turn) !== statusKey(turn)) await deps.queue.add(refreshTask(next.turn, now));
      return { kind: "retry", dueAt: now + next.afterMs, reason: "the job service did not take the request" };
    }
  }
}

async function watch(deps: TaskDeps, turn: Turn): Promise<TaskResult> {
  const now = deps.clock.now();
  if (turn.job !== null) {
    await deps.records.jobs.set(turn.job.id, {
      version: 1,
      id: turn.job.id,
      project: turn.request.project,
      turnIds: [turn.id],
      createdAt: now,
    });
    deps.logger.info({ job_id: turn.job.id }, "job is running");
  }
  await deps.queue.add(pollTask(turn, now + deps.polling.minMs));
  await deps.queue.add(refreshTask(turn, now));
  return { kind: "done" };
}

/** At most this many names are looked up for one prompt; the rest stay ids. */
const MAX_NAMES = 20;

async function namesFor(directory: Directory, teamId: string, quoted: QuotedMessage | null): Promise<Names> {
  if (quoted === null) return { people: new Map(), channels: new Map(), permalink: null };
  const ids = idsToName(quoted);
  const [people, channels, permalink] = await Promise.all([
    namesOf(ids.people, (id) => directory.personName(teamId, id)),
    namesOf(ids.channels, (id) => directory.channelName(teamId, id)),
    directory.permalink({ ...quoted, teamId }),
  ]);
  return { people, channels, permalink };
}

async function namesOf(
  ids: string[],
  nameOf: (id: string) => Promise<string | null>,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  await Promise.all(
    ids.slice(0, MAX_NAMES).map(async (id) => {
      const name = await nameOf(id);
      if (name !== null) names.set(id, name);
    }),
  );
  return names;
}
