import {
  LIST_PAGE_SIZE,
  countsOf,
  groupedTurns,
  isDirect,
  linkedListOf,
  maySee,
  openPullRequests,
  requestListOf,
  type ListOf,
  type ListPage,
  type ListedTurn,
  type Overview,
  type Viewer,
} from "../rules/thread/request-list.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import { cameToNothing, prLinkOf } from "../rules/turn/outcome.ts";
import { isTriedAgain, type Turn } from "../rules/turn/turn.ts";
import { linkedTurn } from "./linked-turn.ts";
import { answerPrivately } from "./reply.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { readTask } from "../rules/decisions/payload.ts";
import { ListPayload } from "../rules/decisions/new-tasks.ts";

/** How long people remember that they asked. */
const WANTED_FOR_MS = 10 * 60_000;

/** Older trouble is no longer news. */
const LATELY_MS = 24 * 60 * 60_000;

/** Answers with the state when it runs. */
export async function list(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(ListPayload, given);
  const { payload } = task;
  const { teamId, channelId, threadTs, userId, responseUrl, of, replaces } = payload;
  const { channels, isComplete } = await deps.memberships.channelsOf(userId);
  const viewer: Viewer = {
    teamId,
    userId,
    // A person who types in a channel is in it. A list on the screen may be older: its reader may
    // have left the channel since.
    channels: replaces ? channels : new Set([...channels, channelId]),
  };
  const message =
    of === "standing"
      ? ({ kind: "overview", ...(await overviewOf(deps, payload, viewer)), isPartial: !isComplete } as const)
      : ({ kind: "list", ...(await pageOf(deps, of, payload, viewer)), isPartial: !isComplete } as const);
  if (deps.clock.now() - task.addedAt >= WANTED_FOR_MS) return { kind: "done" };
  const to = { place: { teamId, channelId, threadTs }, userId, responseUrl, replaces };
  return answerPrivately(deps, task, to, message);
}

/** The newest turns of a list, newest first. */
export async function newestTurns(
  deps: Pick<TaskDeps, "records" | "series">,
  list: string,
  max = Infinity,
): Promise<Turn[]> {
  return (await newestTurnsOf(deps, list, max)).turns;
}

/** Like {@link newestTurns}. `isAll` is false if the list has older ones. */
export async function newestTurnsOf(
  { records, series }: Pick<TaskDeps, "records" | "series">,
  list: string,
  max: number,
): Promise<{ turns: Turn[]; isAll: boolean }> {
  const ids = (await series.of(list)).toReversed();
  const turns = await Promise.all(ids.slice(0, max).map((id) => records.get("turn", id)));
  return { turns: turns.filter((turn) => turn !== undefined), isAll: ids.length <= max };
}

/** Newest first. */
async function listedTurns(
  deps: Pick<TaskDeps, "records" | "series">,
  of: ListOf,
  place: Pick<ListPayload, "teamId" | "userId" | "channelId">,
  seriesOf = requestListOf,
): Promise<Turn[]> {
  const { channelId } = place;
  const kept = await newestTurns(deps, seriesOf(of, place));
  if (of === "person" || !isDirect(channelId)) return kept;
  return kept.filter(
    ({ request, delivery }) => request.channelId === channelId || delivery.channelId === channelId,
  );
}

async function pageOf(
  deps: TaskDeps,
  of: ListOf,
  payload: ListPayload,
  viewer: Viewer,
): Promise<Omit<ListPage, "isPartial">> {
  const now = deps.clock.now();
  const isOpen = payload.isOpen === true;
  const lists: ListOf[] = isOpen ? ["person", "channel"] : [of];
  const seriesOf = isOpen ? linkedListOf : requestListOf;
  const turns = (await Promise.all(lists.map((each) => listedTurns(deps, each, payload, seriesOf)))).flat();
  const visible = turns.filter((turn) => maySee(turn, viewer));
  const seen = isOpen
    ? openPullRequests(visible, now).map((turn): [Turn, ...Turn[]] => [turn])
    : groupedTurns(visible);
  const lastPage = Math.max(0, Math.ceil(seen.length / LIST_PAGE_SIZE) - 1);
  const from = Math.min(payload.from, lastPage * LIST_PAGE_SIZE);
  const page = seen.slice(from, from + LIST_PAGE_SIZE);
  return {
    of,
    turns: await Promise.all(page.map((group) => listedGroup(deps, group))),
    from,
    hasOlder: seen.length > from + LIST_PAGE_SIZE,
    isHiding: of === "person" && visible.length < turns.length,
    ...(isOpen ? { isOpen } : {}),
    now,
  };
}

async function overviewOf(
  deps: TaskDeps,
  payload: ListPayload,
  viewer: Viewer,
): Promise<Omit<Overview, "isPartial">> {
  const visible = async (of: ListOf) =>
    (await listedTurns(deps, of, payload)).filter((turn) => maySee(turn, viewer));
  const own = await visible("person");
  const since = deps.clock.now() - LATELY_MS;
  const troubled = own.flatMap((turn) => {
    const { stage } = turn;
    return stage.name === "ended" && stage.at > since && cameToNothing(stage.outcome) && !isTriedAgain(turn)
      ? [{ turn, at: stage.at }]
      : [];
  });
  const [newest] = troubled.toSorted((one, other) => other.at - one.at);
  return {
    own: own.length === 0 ? null : countsOf(own),
    channel: isDirect(payload.channelId) ? null : countsOf(await visible("channel")),
    contacts: deps.contacts.last(),
    trouble:
      newest === undefined ? null : { ...withUrl(deps, newest.turn), at: newest.at, now: deps.clock.now() },
  };
}

/** A request with its follow-ups, oldest first, as the list shows them. */
export async function listedGroup(
  deps: Pick<TaskDeps, "records" | "directory">,
  group: readonly [Turn, ...Turn[]],
): Promise<ListedTurn> {
  const [first] = group;
  const newest = group.at(-1) ?? first;
  const turn = await withPullRequest(deps, newest);
  const followUps = group.length - 1;
  return { ...withUrl(deps, first), turn, ...(followUps === 0 ? {} : { first, followUps }) };
}

/** A follow-up's turn with the state that is kept at the turn that first left the pull request. */
async function withPullRequest(deps: Pick<TaskDeps, "records">, turn: Turn): Promise<Turn> {
  const { stage } = turn;
  if (stage.name !== "ended" || turn.pullRequest !== undefined) return turn;
  const { pullRequest } = (await linkedTurn(deps, turn)) ?? {};
  return pullRequest === undefined || pullRequest.url !== prLinkOf(stage.outcome)
    ? turn
    : { ...turn, pullRequest };
}

function withUrl({ directory }: Pick<TaskDeps, "directory">, turn: Turn): ListedTurn {
  const { channelId, threadTs } = turn.delivery;
  return { turn, url: threadTs === null ? null : directory.threadUrl({ channelId, ts: threadTs }) };
}
