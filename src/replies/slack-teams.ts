import type { WebClient } from "@slack/web-api";

/** Who the app is in a team. `botName`: without the `@`; `teamUrl`: the workspace's address, as `auth.test` gives it. */
export type SlackIdentity = { botUserId: string; botId: string; botName: string; teamUrl: string };

/** How to speak in a team. */
export type SlackTeam = { client: WebClient; identity: SlackIdentity };

/** The teams in which the app is installed. */
export interface SlackTeams {
  /** Rejects with an error of code `team_unknown` when the app is not installed there. */
  of(teamId: string): Promise<SlackTeam>;
}

/** One team that answers to every id: people from elsewhere act in shared channels under their own team's id. */
export function createSingleTeam(team: SlackTeam): SlackTeams {
  return { of: async () => team };
}
