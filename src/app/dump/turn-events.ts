import type { JobRecord } from "../rules/records.ts";
import { endingOf } from "../rules/turn/outcome.ts";
import { newsKindOf } from "../rules/turn/pull-request-news.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { counted, formatDuration, plainLine, utcTime } from "../../shared/text/text.ts";
import type { Entry, TaskEntry } from "./transfer.ts";

const WORDS_MAX = 200;

/**
 * Something that is stored about a turn, in plain words. `at` is in epoch milliseconds, or null for
 * what is so now. Texts are in one line.
 */
export type TurnEvent = {
  at: number | null;
  of: "request" | "turn" | "job" | "post" | "question" | "pull request" | "task";
  what: string;
};

/** What the turn's own record says. */
export function eventsOfTurn(turn: Turn): TurnEvent[] {
  const { request, stop, overdue } = turn;
  const words = plainLine(request.instructions, WORDS_MAX);
  const how = request.act ?? request.from;
  const why = request.follows === undefined ? "" : `, a follow-up to ${request.follows.turnId}`;
  const at = request.receivedAt;
  return [
    { at, of: "request", what: `${request.userId} asked in ${request.channelId} (${how}${why}): ${words}` },
    ...eventsOfStage(turn),
    ...eventsOfPosts(turn),
    ...(turn.questions ?? []).map(({ number, text, answer, closed }): TurnEvent => {
      const came = answer === undefined ? (closed ?? "open") : `answered by ${answer.userId}`;
      const sent = answer?.result === undefined ? "" : `, ${answer.result}`;
      return { at: null, of: "question", what: `${number} is ${came}${sent}: ${plainLine(text, WORDS_MAX)}` };
    }),
    ...eventsOfPullRequest(turn),
    ...(stop === undefined
      ? []
      : [
          { at: stop.at, of: "turn" as const, what: `${stop.userId} pressed Stop${takenText(stop.isTaken)}` },
        ]),
    ...(overdue === undefined ? [] : [{ at: null, of: "turn" as const, what: overdueText(overdue) }]),
  ];
}

function overdueText({ afterMs, usualMs }: NonNullable<Turn["overdue"]>): string {
  return `It was overdue after ${formatDuration(afterMs)}; usual are ${formatDuration(usualMs)}`;
}

function takenText(isTaken: boolean | undefined): string {
  return isTaken === true ? ", and the job service took it" : "";
}

function eventsOfStage({ stage, watch }: Turn): TurnEvent[] {
  const of = "turn" as const;
  switch (stage.name) {
    case "accepted":
    case "submitting": {
      const isLost = stage.name === "submitting" && stage.isRepeat;
      const what = stage.name === "accepted" ? "It isn't sent yet" : "It is being sent";
      const { waitingSince, limitedUntil } = stage;
      const until = limitedUntil === undefined ? "" : `, which takes more after ${utcTime(limitedUntil)}`;
      return [
        { at: null, of, what: `${what}${isLost ? " again, because an answer was lost" : ""}` },
        ...(waitingSince === null
          ? []
          : [{ at: waitingSince, of, what: `It waits for the job service${until}` }]),
      ];
    }
    case "watching": {
      const { since, troubleSince, progress } = stage;
      const { held, isWaiting, step } = progress ?? {};
      const now =
        isWaiting === true ? "It waits at the job service" : `Its agent works: ${step ?? "no step"}`;
      const until = held === undefined ? "" : ` until ${utcTime(held.until)}: ${held.reason}`;
      return [
        { at: since, of, what: `The job service has it (watch ${watch})` },
        ...(troubleSince === null ? [] : [{ at: troubleSince, of, what: "Polls fail since then" }]),
        { at: null, of, what: `${now}${until}` },
      ];
    }
    case "ended": {
      const { outcome, at } = stage;
      const reasons = [outcome.reason, outcome.said, outcome.told?.reason, outcome.job?.prLink];
      const why = reasons
        .filter((each) => typeof each === "string")
        .map((each) => plainLine(each, WORDS_MAX));
      return [{ at, of, what: [`It ended as ${endingOf(outcome)} (watch ${watch})`, ...why].join(": ") }];
    }
  }
}

function eventsOfPosts({ delivery }: Turn): TurnEvent[] {
  const posts = Object.entries(delivery.slots).map(([name, slot]): TurnEvent => {
    const { channelId, ts, sentAtMs, looks } = slot;
    const found = `Slack hasn't confirmed it, and ${counted(looks, "search", "searches")} didn't find it`;
    const what = ts === null ? `${name} to ${channelId}: ${found}` : `${name} is in ${channelId} as ${ts}`;
    return { at: sentAtMs, of: "post", what };
  });
  const { away, statusOf, shown, refusedUpdate } = delivery;
  const told = [
    ...(away === null ? [] : [`It reports in a direct message, because of ${away}`]),
    ...(statusOf === undefined ? [] : [`Its status is in the message of ${statusOf}`]),
    ...(shown === null ? [] : [`The status message shows "${shown}"`]),
    ...(refusedUpdate === undefined ? [] : [`Slack refused the latest update: ${refusedUpdate}`]),
  ];
  return [...posts, ...told.map((what): TurnEvent => ({ at: null, of: "post", what }))];
}

function eventsOfPullRequest({ pullRequest }: Turn): TurnEvent[] {
  if (pullRequest === undefined) return [];
  const { url, latest, since, changedAt, news } = pullRequest;
  const of = "pull request" as const;
  const stands = `${latest.state}, review ${latest.review}, checks ${latest.checks.state}`;
  return [
    { at: since, of, what: `It was first heard of: ${plainLine(url, WORDS_MAX)}` },
    ...news.map((each) => ({
      at: each.at,
      of,
      what: `${newsKindOf(each)}, ${each.isTold === true ? "told" : "not told yet"}`,
    })),
    { at: changedAt, of, what: `It changed last: ${stands}${latest.isVisible ? "" : "; can't be seen"}` },
  ];
}

/** What the record of a turn's job says. */
export function eventsOfJob({ id, project, createdAt, openTurnIds }: JobRecord): TurnEvent[] {
  const open = openTurnIds.length === 0 ? "" : ` with ${counted(openTurnIds.length, "unfinished turn")}`;
  return [{ at: createdAt, of: "job", what: `${id} is known at ${project.service}, ${project.id}${open}` }];
}

/** A task that waits or was given up. */
export function eventsOfTask(task: TaskEntry): TurnEvent[] {
  const { type, state, dueAt, addedAt, attempt, deaths, endedAt, reason } = task;
  const tries = `attempt ${attempt}${deaths === 0 ? "" : `, its process died ${counted(deaths, "time")}`}`;
  const why = reason === null ? "" : `: ${plainLine(reason, WORDS_MAX)}`;
  const next = state === "dead" ? `${type} was given up` : `${type} runs then (${tries})`;
  return [
    { at: addedAt, of: "task", what: `${type} was added` },
    { at: state === "dead" ? endedAt : dueAt, of: "task", what: `${next}${why}` },
  ];
}

/** A task that is done. */
export function eventsOfDone({ id, endedAt }: Extract<Entry, { kind: "done" }>): TurnEvent[] {
  return [{ at: endedAt, of: "task", what: `${id.slice(0, id.indexOf(":"))} is done` }];
}
