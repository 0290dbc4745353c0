import { within } from "../core/clock.ts";
import { idsToName } from "../core/prompt.ts";
import type { Names } from "../core/prompt.ts";
import type { Requester } from "../core/job-service.ts";
import type { Request } from "../core/request.ts";
import { startOf } from "../core/text.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";

/** At most this many names of a sort are looked up at once; the rest stay ids. */
const MAX_NAMES = 20;
/** Nobody waits for a Slack that is slow: names that are not there by then stay ids, too. */
const NAMES_WITHIN_MS = 2_000;
const NAME_MAX_CHARS = 200;

/** Readable names for the ids in what a request quotes, and its permalink, as far as Slack tells them in time. */
export async function namesOfRequest(
  deps: Pick<TaskDeps, "clock" | "directory">,
  request: Request,
): Promise<Names> {
  const ids = idsToName(request);
  if (ids === null) return { people: new Map(), channels: new Map(), permalink: null };
  let permalink: string | null = null;
  const linking = deps.directory.permalink({ teamId: request.teamId, ...ids.message }).then((found) => {
    permalink = found;
  });
  const names = await lookUpNames(deps, request.teamId, ids, [linking]);
  return { ...names, permalink };
}

/** Who asks, for the job service. What Slack doesn't tell in time is said with care: the id for a name, and a place that is private. */
export async function requesterOf(
  { clock, directory }: Pick<TaskDeps, "clock" | "directory">,
  { request, delivery }: Turn,
): Promise<Requester> {
  const { teamId, channelId, userId } = request;
  const ts = request.threadTs ?? (delivery.channelId === channelId ? delivery.threadTs : null);
  const looks = Promise.all([
    directory.personName(teamId, userId),
    directory.isPublic(teamId, channelId),
    ts === null ? null : directory.threadUrl({ teamId, channelId, ts }),
  ]);
  const [name, isPublic, link] = (await within(clock, NAMES_WITHIN_MS, looks, null)) ?? [null, false, null];
  const shown = startOf((name ?? "").trim(), NAME_MAX_CHARS).toWellFormed();
  return { name: shown === "" ? userId : shown, link, isPrivate: !isPublic };
}

/** The names of people and channels, as far as Slack tells them in time; `besides`: what else to wait for. */
export async function lookUpNames(
  {
    clock,
    directory,
  }: Pick<TaskDeps, "clock"> & {
    directory: Pick<TaskDeps["directory"], "personName" | "channelName">;
  },
  teamId: string,
  ids: { people: readonly string[]; channels: readonly string[] },
  besides: readonly Promise<void>[] = [],
): Promise<Pick<Names, "people" | "channels">> {
  const people = new Map<string, string>();
  const channels = new Map<string, string>();
  const looks = [
    ...ids.people
      .slice(0, MAX_NAMES)
      .map(async (id) => note(people, id, await directory.personName(teamId, id))),
    ...ids.channels
      .slice(0, MAX_NAMES)
      .map(async (id) => note(channels, id, await directory.channelName(teamId, id))),
    ...besides,
  ];
  await within(clock, NAMES_WITHIN_MS, Promise.all(looks), null);
  // What comes later changes nothing any more.
  return { people: new Map(people), channels: new Map(channels) };
}

function note(names: Map<string, string>, id: string, name: string | null): void {
  if (name !== null) names.set(id, name);
}
