import type { WebClient } from "@slack/web-api";
import { DocsAgentError } from "../core/errors.ts";

/** Who the app is in a workspace that it is installed in. Empty: not known yet. */
export type SlackIdentity = {
  botUserId: string;
  botId: string;
  botName: string;
  teamUrl: string;
  teamId: string;
  /** Of the organization that the workspace belongs to; empty also where it belongs to none. */
  enterpriseId: string;
  /** What the app was granted; null: Slack hasn't said. */
  scopes: readonly string[] | null;
};

/** Whether the app has a scope; true also where Slack hasn't said. */
export function grants({ scopes }: SlackIdentity, scope: string): boolean {
  return scopes?.includes(scope) !== false;
}

/** A workspace, as the app acts in it. */
export type SlackTeam = { client: WebClient; identity: SlackIdentity };

/** The workspaces that the app is installed in. */
export interface SlackTeams {
  /**
   * The client and the bot's identity for a team; rejects with a TeamUnknownError where the app is
   * not installed.
   */
  of(teamId: string): Promise<SlackTeam>;
}

/** The app is not installed in that workspace. */
export class TeamUnknownError extends DocsAgentError {
  readonly code = "team_unknown";

  constructor(teamId: string) {
    super(`Docs Agent isn't installed in the workspace ${teamId}. Install it there.`);
  }
}

const UNKNOWN: SlackIdentity = {
  botUserId: "",
  botId: "",
  botName: "docs-agent",
  teamUrl: "",
  teamId: "",
  enterpriseId: "",
  scopes: null,
};

/** The one workspace of an app with one bot token: every team id means it. */
export class InstalledTeam implements SlackTeams {
  readonly #client: WebClient;
  #identity = UNKNOWN;

  constructor(client: WebClient) {
    this.#client = client;
  }

  /** Who the app is there; fallbacks until {@link learn} was called. */
  get identity(): SlackIdentity {
    return this.#identity;
  }

  get isIdentityKnown(): boolean {
    return this.#identity !== UNKNOWN;
  }

  /** Slack has said who the app is. */
  learn(identity: SlackIdentity): void {
    this.#identity = identity;
  }

  async of(): Promise<SlackTeam> {
    return { client: this.#client, identity: this.#identity };
  }
}
