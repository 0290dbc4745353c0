import { faultForLog } from "../core/job-service.ts";
import { composePrompt, idsToName } from "../core/prompt.ts";
import type { Names } from "../core/prompt.ts";
import type { Request } from "../core/request.ts";
import { AFTER_STORE_FAULT_MS } from "../core/retry.ts";
import { statusKey } from "../core/status-text.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import { afterSubmit, beforeSubmit, endTurn, knownPrompt, notSubmitted } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import { isStoreAnswerLost } from "../errors.ts";
import type { Read, Write } from "../core/records.ts";
import { tasksAfterEnd } from "./after-end.ts";
import type { TaskDeps } from "./deps.ts";
import { closedForMs, heedRetryAfter, notAsked } from "./project-gate.ts";
import { TurnPayload, readPayload, turnPayload } from "./payload.ts";
import { refreshTask } from "./refresh.ts";
import { requireTurn, turnWrites } from "./turn-writes.ts";
import { watchTask } from "./watch.ts";

export function submitTask(turn: Turn): NewTask {
  const { service } = turn.request.project;
  return {
    id: `submit:${turn.id}`,
    type: "submit",
    share: service,
    known: "pending",
    payload: turnPayload(turn),
  };
}

/**
 * Creates the job: at most once per turn. That the create is on its way is saved before it is sent; a run that finds this and no
 * answer sends it again only where the service honors idempotency keys, and ends the turn as `unknown` elsewhere. The answer is saved
 * before anyone is told.
 */
export async function submit(deps: TaskDeps, task: Task): Promise<Step> {
  const { turnId } = readPayload(TurnPayload, task);
  const known = requireTurn(await deps.records.turn.get(turnId), turnId);
  const { request } = known;
  const configured = deps.jobServices.of(request.project);
  if (configured === undefined) {
    deps.logger.error(
      { project: request.project.name },
      "the project of this request is no longer configured",
    );
    const now = deps.clock.now();
    return settle(deps, turnId, (turn) =>
      turn.stage.name === "accepted"
        ? endTurn(turn, "rejected", now, { reason: "project" })
        : beforeSubmit(turn, { now, policy: deps.polling, honorsKeys: false, prompt: "" }),
    );
  }
  const { service, jobService } = configured;
  const announced = (await deps.records.service.get(service))?.honorsIdempotencyKeys ?? false;
  // At another address nobody knows the key of a create that was sent before.
  const isSentElsewhere = known.stage.name === "submitting" && service !== request.project.service;
  const honoredKeys = !isSentElsewhere && (jobService.honorsIdempotencyKeys === true || announced);
  const prompt = knownPrompt(known) ?? composePrompt(request, await namesFor(deps, request));

  const waitMs = await closedForMs(deps, request.project);

  const sending = { now: deps.clock.now(), policy: deps.polling, honorsKeys: honoredKeys, prompt };
  let before: Turn;
  try {
    before = await deps.commit((read) => {
      const turn = requireTurn(read("turn", turnId), turnId);
      const next = beforeSubmit(turn, sending);
      return { writes: next.stage.name === "submitting" ? turnWrites(deps, read, next) : [], value: next };
    });
  } catch (thrown) {
    if (!isStoreAnswerLost(thrown)) throw thrown;
    return settle(deps, turnId, (turn) => notSubmitted(turn, known), [], {
      afterMs: AFTER_STORE_FAULT_MS,
      reason: thrown.message,
    });
  }
  // Decided once more on the turn as it is then: what was posted for it in between must stay.
  if (before.stage.name !== "submitting") {
    return settle(deps, turnId, (turn) => beforeSubmit(turn, sending));
  }

  deps.assertHeld();
  const answer =
    waitMs > 0 ? notAsked(waitMs) : await jobService.createJob(knownPrompt(before) ?? prompt, turnId);
  if (waitMs === 0) await heedRetryAfter(deps, request.project, answer);
  if (answer.ok) deps.logger.info({ job_id: answer.job.id }, "job is created");
  else deps.logger.warn({ fault: faultForLog(answer.fault) }, "create did not succeed");
  const honorsKeys = honoredKeys || answer.honorsIdempotencyKeys;
  const at = {
    now: deps.clock.now(),
    attempt: task.attempt,
    random: deps.random(),
    policy: deps.polling,
    honorsKeys,
  };
  const { afterMs } = afterSubmit(before, answer, at);
  const retry = afterMs === null ? null : { afterMs, reason: "the job service did not take the request" };
  // Only the service's own answer says that it does not honor them any more.
  const announces = answer.ok ? answer.honorsIdempotencyKeys : announced || answer.honorsIdempotencyKeys;
  const noted: Write[] =
    announces === announced
      ? []
      : [{ kind: "service", id: service, record: { version: 1, honorsIdempotencyKeys: announces } }];
  return settle(deps, turnId, (turn) => afterSubmit(turn, answer, at).turn, noted, retry);
}

/** Writes down how a turn stands after its create, and adds what follows from it. */
function settle(
  deps: TaskDeps,
  turnId: string,
  change: (turn: Turn) => Turn,
  more: Write[] = [],
  retry: { afterMs: number; reason: string } | null = null,
): Step {
  return (read: Read) => {
    const turn = requireTurn(read("turn", turnId), turnId);
    const next = change(turn);
    const { stage } = next;
    if (stage.name === "ended" && turn.stage.name !== "ended") {
      const { kind, reason, tookMs, told } = stage.outcome;
      const said = told === undefined ? {} : { told: told.outcome };
      deps.logger.info({ outcome: kind, ...said, reason, took_ms: tookMs }, "turn ended");
    }
    const now = deps.clock.now();
    return {
      writes: [...more, ...turnWrites(deps, read, next)],
      adds: [
        ...(stage.name === "watching" ? [watchTask(next, now + deps.polling.minMs)] : []),
        ...tasksAfterEnd(next),
        ...(statusKey(next) === next.delivery.shown || stage.name === "ended" || next.delivery.shown === null
          ? []
          : [refreshTask(next)]),
      ],
      value:
        retry === null
          ? { kind: "done" }
          : { kind: "retry", dueAt: now + retry.afterMs, reason: retry.reason },
    };
  };
}

/** At most this many names are looked up for one prompt; the rest stay ids. */
const MAX_NAMES = 20;
/** The create does not wait for a Slack that is slow: names that are not there by then stay ids, too. */
const NAMES_WITHIN_MS = 2_000;

async function namesFor(deps: TaskDeps, { teamId, quoted }: Request): Promise<Names> {
  const people = new Map<string, string>();
  const channels = new Map<string, string>();
  let link: string | null = null;
  if (quoted === null) return { people, channels, permalink: link };
  const { directory } = deps;
  const ids = idsToName(quoted);
  const { channelId, ts, threadTs } = quoted;
  const looks = [
    ...ids.people
      .slice(0, MAX_NAMES)
      .map(async (id) => note(people, id, await directory.personName(teamId, id))),
    ...ids.channels
      .slice(0, MAX_NAMES)
      .map(async (id) => note(channels, id, await directory.channelName(teamId, id))),
    directory.permalink({ teamId, channelId, ts, threadTs }).then((found) => {
      link = found;
    }),
  ];
  let cancel = () => {};
  const enough = new Promise<void>((resolve) => {
    cancel = deps.clock.wakeAt(deps.clock.now() + NAMES_WITHIN_MS, resolve);
  });
  await Promise.race([Promise.all(looks), enough]);
  cancel();
  return { people: new Map(people), channels: new Map(channels), permalink: link };
}

function note(names: Map<string, string>, id: string, name: string | null): void {
  if (name !== null) names.set(id, name);
}
