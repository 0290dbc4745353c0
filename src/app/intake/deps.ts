import type { AccessSettings } from "../rules/access.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import type { Directory } from "../rules/ports/directory.ts";
import type { Notifier, Refusal } from "../rules/ports/notifier.ts";
import type { ProjectRef } from "../rules/project.ts";
import type { ProjectSettings } from "../rules/project-choice.ts";
import { PROMPT_MAX_CHARS } from "../rules/turn/request.ts";
import type { FollowUps } from "../rules/thread/people.ts";
import type { AcceptanceEnd } from "../rules/decisions/accept.ts";
import type { AppQueue } from "../rules/records.ts";
import type { Context } from "@slack/bolt";
import type { FirstTries } from "./first-tries.ts";

/** What happened to a request. `known` was accepted before (a redelivery). */
export type Accepted = AcceptanceEnd | { kind: "refused"; refusal: Refusal };

/** Everything the ways in depend on. */
export type IntakeDeps = Pick<
  TaskDeps,
  | "clock"
  | "logger"
  | "measure"
  | "polling"
  | "records"
  | "retentionMs"
  | "threadReader"
  | "messageReader"
  | "memberships"
  | "series"
> &
  ProjectSettings & {
    fileReader: Pick<TaskDeps["fileReader"], "lookUp">;
    queue: Pick<AppQueue, "add" | "commit" | "read">;
    notifier: Pick<Notifier, "replyPrivately" | "publishHome">;
    firstTries: Pick<FirstTries, "isRefused">;
    directory: Pick<Directory, "admission" | "groupMembers" | "personName" | "channelName" | "groupName">;
    /** See `Store.isUnsafe`. */
    isStoreUnsafe: () => boolean;
    access: AccessSettings;
    /** Requests an hour. 0 means no limit. */
    limits: { perPerson: number; perChannel: number };
    followUps: FollowUps;
    /** Origins whose pull requests become links although they aren't https. */
    httpOrigins: readonly string[];
    /** The person to contact for help, in the operator's mrkdwn. */
    contact: string;
    /**
     * Ids of requests whose person already knows that they are saved. An id stays until the moment
     * the person would be told.
     */
    reassured: Set<string>;
    /** Requests that are being accepted right now, by id. */
    accepting: Map<string, Promise<Accepted>>;
  };

/**
 * The workspace through which something came to the app. In a channel that another organization
 * shares, an event's own `team_id` is that organization's, while commands and buttons there name
 * the app's workspace (github.com/slackapi/bolt-js/issues/687). Using both would give one thread
 * two names.
 */
export function teamOf({ teamId }: Pick<Context, "teamId">): string {
  return teamId ?? "";
}

/** Why a person's words are refused for their length, or null if they aren't. */
export function tooLong({ length }: string): RefusalOf<"too-long"> | null {
  return length <= PROMPT_MAX_CHARS ? null : { kind: "too-long", length, limit: PROMPT_MAX_CHARS };
}

type RefusalOf<K extends Refusal["kind"]> = Extract<Refusal, { kind: K }>;

export function namesOf(projects: readonly ProjectRef[]): string[] {
  return projects.map(({ name }) => name);
}
