import { HomePayload } from "../rules/decisions/new-tasks.ts";
import { readTask } from "../rules/decisions/payload.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { personId, type Step } from "../rules/records.ts";
import {
  groupedTurns,
  HOME_OPEN_MAX,
  HOME_ROWS_MAX,
  type HomePage,
  linkedListOf,
  maySee,
  openFirst,
  openPullRequests,
  requestListOf,
  type Viewer,
} from "../rules/thread/request-list.ts";
import type { Turn } from "../rules/turn/turn.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import { listedGroup, newestTurnsOf, newestTurns } from "./list.ts";
import { afterFault, untilReserved } from "./post.ts";

/** `views.publish` allows over 100 a minute (docs.slack.dev/reference/methods/views.publish). */
const HOME_RATE = { gapMs: 600, burst: 5 };

/** The most channels whose requests are looked through, and the most of each. */
const CHANNELS_MAX = 50;
const OF_CHANNEL_MAX = 10;
/** The most of the person's own requests. */
const OWN_MAX = 50;
/** The most requests with a pull request, in all lists together: all that four lists keep. */
const LINKED_MAX = 2_500;

/**
 * Publishes a person's Home tab with the state when it runs. Publishing it twice shows the same.
 */
export async function home(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(HomePayload, given);
  const { teamId, userId } = task.payload;
  const gate = `home:${teamId}`;
  const wait = await untilReserved(deps, task, gate, HOME_RATE);
  if (wait !== null) return wait;
  // Asked for now, since this task may have waited. The tab counts as direct messages.
  const refusal = await deps.refusalOf({ userId, channelId: userId });
  const page = refusal === null ? await pageFor(deps, { teamId, userId }) : { refusal };
  const answer = await deps.notifier.publishHome(userId, { kind: "home", page });
  if (answer.ok) return { kind: "done" };
  if (answer.fault.kind === "place") return { kind: "dead", reason: answer.fault.error };
  return afterFault(deps, task, answer.fault, gate);
}

async function pageFor(
  deps: TaskDeps,
  { teamId, userId }: { teamId: string; userId: string },
): Promise<HomePage> {
  const { channels, isComplete } = await deps.memberships.channelsOf(userId);
  const viewer: Viewer = { teamId, userId, channels };
  const looked = [...channels].slice(0, CHANNELS_MAX);
  const linkedMax = Math.floor(LINKED_MAX / (looked.length + 1));
  const now = deps.clock.now();
  const seen = (turns: readonly Turn[]) => turns.filter((turn) => maySee(turn, viewer));
  const own = { teamId, userId, channelId: "" };
  const ofChannels = looked.map((channelId) => ({ teamId, userId, channelId }));
  const [mine, theirs, linked, person] = await Promise.all([
    newestTurns(deps, requestListOf("person", own), OWN_MAX),
    Promise.all(ofChannels.map((at) => newestTurns(deps, requestListOf("channel", at), OF_CHANNEL_MAX))),
    Promise.all(
      [linkedListOf("person", own), ...ofChannels.map((at) => linkedListOf("channel", at))].map((list) =>
        newestTurnsOf(deps, list, linkedMax),
      ),
    ),
    deps.records.get("person", personId(own)),
  ]);
  const others = seen(theirs.flat())
    .filter(({ request }) => request.userId !== userId)
    .toSorted((one, other) => other.request.receivedAt - one.request.receivedAt);
  const rows = (turns: readonly Turn[]) =>
    Promise.all(openFirst(groupedTurns(turns), HOME_ROWS_MAX).map((group) => listedGroup(deps, group)));
  const open = openPullRequests(seen(linked.flatMap(({ turns }) => turns)), now);
  const isLookedThrough = channels.size <= CHANNELS_MAX && linked.every(({ isAll }) => isAll);
  return {
    own: await rows(seen(mine)),
    team: await rows(others),
    open: await Promise.all(open.slice(0, HOME_OPEN_MAX).map((turn) => listedGroup(deps, [turn]))),
    moreOpen: Math.max(0, open.length - HOME_OPEN_MAX),
    project: (person?.project && deps.jobServices.of(person.project)?.name) ?? null,
    isPartial: !isComplete,
    looked: isLookedThrough ? null : { channels: looked.length, entries: linkedMax },
    now,
  };
}
