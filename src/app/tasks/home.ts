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
import { listedGroup, newestTurns } from "./list.ts";
import { afterFault, untilReserved } from "./post.ts";

/** `views.publish` allows over 100 a minute (docs.slack.dev/reference/methods/views.publish). */
const HOME_RATE = { gapMs: 600, burst: 5 };

/** The most channels whose requests are looked through, and the most of each. */
const CHANNELS_MAX = 50;
const OF_CHANNEL_MAX = 10;
/** The most of the person's own requests, and of each list's pull requests. */
const OWN_MAX = 50;
const LINKED_MAX = 50;

/**
 * Publishes a person's Home tab with the state when it runs. Publishing it twice shows the same.
 */
export async function home(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(HomePayload, given);
  const { teamId, userId, refusal } = task.payload;
  const gate = `home:${teamId}`;
  const wait = await untilReserved(deps, task, gate, HOME_RATE);
  if (wait !== null) return wait;
  const page = refusal === undefined ? await pageFor(deps, { teamId, userId }) : { refusal };
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
  const now = deps.clock.now();
  const seen = (turns: readonly Turn[]) => turns.filter((turn) => maySee(turn, viewer));
  const ofChannels = async (listOf: typeof requestListOf, max: number) => {
    const lists = looked.map((channelId) => listOf("channel", { teamId, userId, channelId }));
    return seen((await Promise.all(lists.map((series) => newestTurns(deps, series, max)))).flat());
  };
  const own = { teamId, userId, channelId: "" };
  const [mine, theirs, myLinked, theirLinked, person] = await Promise.all([
    newestTurns(deps, requestListOf("person", own), OWN_MAX),
    ofChannels(requestListOf, OF_CHANNEL_MAX),
    newestTurns(deps, linkedListOf("person", own), LINKED_MAX),
    ofChannels(linkedListOf, LINKED_MAX),
    deps.records.get("person", personId(own)),
  ]);
  const others = theirs
    .filter(({ request }) => request.userId !== userId)
    .toSorted((one, other) => other.request.receivedAt - one.request.receivedAt);
  const rows = (turns: readonly Turn[]) =>
    Promise.all(openFirst(groupedTurns(turns), HOME_ROWS_MAX).map((group) => listedGroup(deps, group)));
  const open = openPullRequests([...seen(myLinked), ...theirLinked], now);
  return {
    own: await rows(seen(mine)),
    team: await rows(others),
    open: await Promise.all(open.slice(0, HOME_OPEN_MAX).map((turn) => listedGroup(deps, [turn]))),
    moreOpen: Math.max(0, open.length - HOME_OPEN_MAX),
    project: (person?.project && deps.jobServices.of(person.project)?.name) ?? null,
    isPartial: !isComplete || channels.size > CHANNELS_MAX,
    now,
  };
}
