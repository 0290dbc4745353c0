import type { Context } from "@slack/bolt";

/**
 * The workspace through which something came to the app. In a channel that another organization shares, an event's own `team_id` is that
 * organization's, while commands and buttons there name the app's (github.com/slackapi/bolt-js/issues/687): one thread would have two names.
 */
export function teamOf({ teamId }: Pick<Context, "teamId">): string {
  return teamId ?? "";
}
