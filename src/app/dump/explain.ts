import { jobKey } from "../rules/project.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { type TurnEvent, eventsOfDone, eventsOfJob, eventsOfTask, eventsOfTurn } from "./turn-events.ts";
import { entryRecord } from "./entry-record.ts";
import { type Entry, type Side, StateError } from "./transfer.ts";

/** A message in Slack, and the thread that it is in, if it doesn't begin it. */
type Linked = { channelId: string; ts: string; threadTs: string | null };

/** Everything that is stored about a turn, the oldest first. What has no time comes last. */
export type ExplainedTurn = { id: string; project: string; job: string | null; events: TurnEvent[] };

/**
 * Explains what is stored about a message in Slack: its turn, or all turns of the thread that it
 * begins. Rejects with a {@link StateError} if it isn't a link to a message, or nothing is stored.
 */
export async function explain(
  source: Pick<Side, "entries" | "name">,
  link: string,
): Promise<ExplainedTurn[]> {
  const linked = linkedMessage(link);
  const turns = turnsOf(await readTurns(source, linked), linked);
  if (turns.length === 0) {
    throw new StateError(
      `Nothing in ${source.name} is about that message. Copy the link of the request, of one of its ` +
        "replies, or of a message of Docs Agent. Old requests are forgotten (RETENTION_DAYS).",
    );
  }
  const explained = new Map(turns.map((turn) => [turn.id, { turn, events: eventsOfTurn(turn) }]));
  for await (const entry of source.entries()) {
    for (const { turn, events } of explained.values()) events.push(...eventsOfEntry(entry, turn));
  }
  return [...explained.values()].map(({ turn, events }) => ({
    id: turn.id,
    project: turn.request.project.name,
    job: turn.job?.id ?? null,
    events: events.toSorted((one, other) => (one.at ?? Infinity) - (other.at ?? Infinity) || 0),
  }));
}

/** Reads a link to a message, as Slack copies it. Throws a {@link StateError} if it is none. */
function linkedMessage(link: string): Linked {
  const url = URL.canParse(link) ? new URL(link) : null;
  const [, channelId, seconds, micros] =
    /\/archives\/([A-Z0-9]+)\/p(\d{10})(\d{6})\/?$/.exec(url?.pathname ?? "") ?? [];
  if (url === null || channelId === undefined) {
    throw new StateError(
      "That isn't a link to a message. In Slack, choose Copy link in the message's menu, and put it " +
        "into quotes.",
    );
  }
  const ts = `${seconds}.${micros}`;
  const threadTs = url.searchParams.get("thread_ts");
  return { channelId, ts, threadTs: threadTs === ts ? null : threadTs };
}

/** The turns whose records name the message or its thread, the oldest first. */
async function readTurns(source: Pick<Side, "entries">, { ts, threadTs }: Linked): Promise<Turn[]> {
  const turns: Turn[] = [];
  for await (const entry of source.entries()) {
    if (entry.kind !== "record" || !entry.id.startsWith("turn:")) continue;
    // Most records are about something else, and reading one takes a while.
    if (!entry.text.includes(ts) && (threadTs === null || !entry.text.includes(threadTs))) continue;
    const turn = entryRecord("turn", entry);
    if (turn !== undefined) turns.push(turn);
  }
  return turns.toSorted((one, other) => one.request.receivedAt - other.request.receivedAt);
}

/** Of turns that name a message or its thread, those that the message is about. */
function turnsOf(turns: readonly Turn[], linked: Linked): Turn[] {
  const { channelId, ts, threadTs } = linked;
  const own = turns.filter((turn) => isOf(turn, channelId, ts));
  if (threadTs !== null && own.length > 0) return own;
  const root = threadTs ?? ts;
  return turns.filter((turn) => own.includes(turn) || isInThread(turn, channelId, root));
}

function isOf({ request, delivery }: Turn, channelId: string, ts: string): boolean {
  const { messageTs, quoted } = request;
  const isAsked = request.channelId === channelId && messageTs === ts;
  const isQuoted = quoted?.channelId === channelId && quoted.ts === ts;
  const posts = Object.values(delivery.slots);
  return isAsked || isQuoted || posts.some((post) => post.channelId === channelId && post.ts === ts);
}

function isInThread({ request, delivery }: Turn, channelId: string, root: string): boolean {
  return [request, delivery].some((place) => place.channelId === channelId && place.threadTs === root);
}

function eventsOfEntry(entry: Entry, turn: Turn): TurnEvent[] {
  const key = turn.job === null ? null : jobKey(turn.request.project, turn.job.id);
  switch (entry.kind) {
    case "record": {
      if (key === null || entry.id !== `job:${key}`) return [];
      const job = entryRecord("job", entry);
      return job === undefined ? [] : eventsOfJob(job);
    }
    case "task":
      return isTaskOf(entry, turn.id, key) ? eventsOfTask(entry) : [];
    case "done":
      return isTaskOf(entry, turn.id, key) ? eventsOfDone(entry) : [];
    case "series":
      return [];
  }
}

/** A task's id names the turn or the job that it is for, and perhaps more behind it. */
function isTaskOf({ id }: { id: string }, turnId: string, key: string | null): boolean {
  const named = id.slice(id.indexOf(":") + 1);
  return named === turnId || named.startsWith(`${turnId}:`) || named === key;
}
