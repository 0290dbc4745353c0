/**
 * Whether a person may use the app.
 *
 * - `admitted`: a member, or the operator admits everyone. What they wrote may leave Slack.
 * - `guest`: a guest or a person of another organization, whom the operator doesn't admit.
 * - `unchecked`: Slack can't say at the moment.
 * - `uncheckable`: Slack won't say until the operator grants the app a scope.
 */
export type Admission = "admitted" | "guest" | "unchecked" | "uncheckable";

/** Looks people up in Slack and never throws. Names are cached for minutes, and null if unknown. */
export interface Directory {
  /** Waits at most a second for Slack. The answer is cached for minutes. */
  admission(userId: string): Promise<Admission>;
  personName(userId: string): Promise<string | null>;
  /** True only if Slack says that everybody in the workspace can read the channel. */
  isPublic(channelId: string): Promise<boolean>;
  channelName(channelId: string): Promise<string | null>;
  /** The ids of a user group's members. Null if Slack doesn't say, or doesn't know the group. */
  groupMembers(groupId: string): Promise<ReadonlySet<string> | null>;
  /** The handle of a user group. Null also without the scope for it. */
  groupName(groupId: string): Promise<string | null>;
  /** Like {@link permalink}, but without asking Slack. Null if the team's address isn't known. */
  threadUrl(thread: { channelId: string; ts: string }): string | null;
  /** An id of the app itself, which no other app has. Null if it isn't known. */
  appId(): string | null;
  permalink(message: { channelId: string; ts: string; threadTs: string | null }): Promise<string | null>;
}

/** Which channels people are in. */
export interface Memberships {
  /**
   * Lists the person's channels that the app is in too, at most half a minute out of date.
   * `isComplete` is false if Slack didn't list them all.
   */
  channelsOf(userId: string): Promise<{ channels: ReadonlySet<string>; isComplete: boolean }>;
}
