import { setTimeout as sleep } from "node:timers/promises";
import type { UsersInfoResponse } from "@slack/web-api";
import type { Admission, Directory } from "../rules/ports/directory.ts";
import { keepNewest } from "../../shared/store/keep-newest.ts";
import { slackFault } from "./slack-faults.ts";
import { KEPT_MAX, KEPT_MS } from "./remembered.ts";
import type { SlackDeps, SlackIdentity } from "./slack-team.ts";

/** Slack waits 3 s for an ack, and storing the request has to fit in, too. */
const WITHIN_MS = 1_000;
/** Time before a person is looked up again after Slack didn't answer. */
const UNANSWERED_MS = 5_000;
/**
 * How long a known member stays admitted while Slack doesn't answer, so that their requests don't
 * wait.
 */
const TRUSTED_MS = 24 * 60 * 60_000;

/**
 * users.info: errors for people of other organizations who share no channel with the app.
 * https://docs.slack.dev/reference/methods/users.info
 */
const NOT_HERE: ReadonlySet<string> = new Set(["user_not_found", "user_not_visible"]);

type User = NonNullable<UsersInfoResponse["user"]>;

/**
 * Checks if a person may use the app. See `Directory.admission`. `allowGuests` admits guests and
 * people of other organizations like members.
 */
export function createSlackAdmission({
  team,
  allowGuests,
  clock,
  logger,
}: SlackDeps & { allowGuests: boolean }): Directory["admission"] {
  /** `saidMs` is when Slack said so. */
  const known = new Map<string, { admission: Admission; saidMs: number; untilMs: number }>();
  const asking = new Map<string, Promise<Admission>>();
  let hasWarned = false;

  async function ask(userId: string): Promise<Admission> {
    try {
      const { client, identity } = team;
      const { user } = await client.users.info({ user: userId });
      if (user === undefined || identity.teamId === "") return "unchecked";
      return isMember(user, identity) ? "admitted" : "guest";
    } catch (thrown) {
      const fault = slackFault(thrown);
      if (NOT_HERE.has(fault.error)) return "guest";
      if (fault.error !== "missing_scope") {
        logger.warn({ user: userId, fault }, "cannot look up whether a person is a member");
        return "unchecked";
      }
      if (!hasWarned) {
        hasWarned = true;
        logger.error(
          { missing: ["users:read"] },
          "Members can't be told from guests, so nobody is let in. Reinstall the app with " +
            "users:read, or set ALLOW_GUESTS to true.",
        );
      }
      return "uncheckable";
    }
  }

  /** Returns the answer that counts from now on. */
  function keep(userId: string, answer: Admission): Admission {
    const nowMs = clock.monotonicMs();
    const before = known.get(userId);
    const isTrusted = before?.admission === "admitted" && nowMs < before.saidMs + TRUSTED_MS;
    const isSaid = answer === "admitted" || answer === "guest";
    const { admission, saidMs } =
      answer === "unchecked" && isTrusted ? before : { admission: answer, saidMs: nowMs };
    const untilMs = nowMs + (isSaid ? KEPT_MS : UNANSWERED_MS);
    keepNewest(known, userId, { admission, saidMs, untilMs }, KEPT_MAX);
    return admission;
  }

  async function askTwice(userId: string): Promise<Admission> {
    try {
      const answer = await ask(userId);
      // For an unknown person, one failed call isn't enough.
      const isLost = answer === "unchecked" && !known.has(userId);
      return keep(userId, isLost ? await ask(userId) : answer);
    } finally {
      asking.delete(userId);
    }
  }

  return async function admission(userId: string): Promise<Admission> {
    if (allowGuests) return "admitted";
    const before = known.get(userId);
    if (before !== undefined && clock.monotonicMs() < before.untilMs) return before.admission;
    let answer = asking.get(userId);
    if (answer === undefined) {
      answer = askTwice(userId);
      asking.set(userId, answer);
    }
    const inTime = await Promise.race([answer, sleep(WITHIN_MS, null, { ref: false })]);
    if (inTime !== null) return inTime;
    // The next caller doesn't wait as well. When the answer arrives, it replaces this.
    return keep(userId, "unchecked");
  };
}

/**
 * From https://docs.slack.dev/reference/objects/user-object and
 * https://docs.slack.dev/apis/slack-connect: `is_restricted` marks any guest, and
 * `is_ultra_restricted` a guest of a single channel. `is_stranger` marks a person of another
 * workspace who is in no channel that the app sees. A person of another organization in a shared
 * channel has none of these, but another `team_id`. So do people of other workspaces of the same
 * Enterprise Grid, where `enterprise_user` names the organization; they may have no `team_id` at
 * all. For a deactivated person, Slack leaves out `is_restricted`, so we can't tell if they were a
 * guest (github.com/brekkylab/backlot/issues/258 shows both).
 */
function isMember(user: User, { teamId, enterpriseId }: SlackIdentity): boolean {
  if (user.is_restricted === true || user.is_ultra_restricted === true || user.is_stranger === true) {
    return false;
  }
  if (user.deleted === true && user.is_restricted === undefined) return false;
  const enterprise = user.enterprise_user;
  const organization = enterprise?.enterprise_id ?? user.enterprise_id ?? "";
  if (enterpriseId !== "" && organization === enterpriseId) return true;
  return [user.team_id, ...(user.teams ?? []), ...(enterprise?.teams ?? [])].includes(teamId);
}
