import { accessRefusal, type AccessFacts, factsToAskFor } from "../rules/access.ts";
import type { Refusal } from "../rules/ports/notifier.ts";
import { within } from "../../shared/machine/ports.ts";
import type { IntakeDeps } from "./deps.ts";

/** Slack waits 3 s for an ack, and storing the request has to fit in, too. */
const WITHIN_MS = 1_000;

type Deps = Pick<IntakeDeps, "access" | "clock" | "memberships"> & {
  directory: Pick<IntakeDeps["directory"], "admission" | "groupMembers">;
};

/**
 * The one rule for who may use the app where, which every way in from Slack asks: guests, and
 * the operator's channels and groups. Says why somebody may not, or null if they may. `unchecked`
 * means that Slack doesn't say yet whether they are a member, and all else lets them in. A form
 * has no channel.
 */
export async function whyRefused(
  deps: Deps,
  { userId, channelId }: { userId: string; channelId: string | null },
): Promise<Refusal | null> {
  const asked = factsToAskFor(deps.access, channelId);
  const [admission, isInChannel, isInGroup] = await Promise.all([
    deps.directory.admission(userId),
    asked.isInChannel ? within(deps.clock, WITHIN_MS, isInAllowedChannel(deps, userId), null) : null,
    asked.isInGroup ? within(deps.clock, WITHIN_MS, isInAllowedGroup(deps, userId), null) : null,
  ]);
  if (admission === "guest" || admission === "uncheckable") return { kind: admission };
  const refusal = accessRefusal(deps.access, channelId, { isInChannel, isInGroup });
  return refusal ?? (admission === "unchecked" ? { kind: admission } : null);
}

async function isInAllowedChannel(
  { access, memberships }: Deps,
  userId: string,
): Promise<AccessFacts["isInChannel"]> {
  const { channels, isComplete } = await memberships.channelsOf(userId);
  return access.channels.some((id) => channels.has(id)) || (isComplete ? false : null);
}

async function isInAllowedGroup(
  { access, directory }: Deps,
  userId: string,
): Promise<AccessFacts["isInGroup"]> {
  const groups = await Promise.all(access.groups.map((id) => directory.groupMembers(id)));
  return groups.some((members) => members?.has(userId) === true) || (groups.includes(null) ? null : false);
}
