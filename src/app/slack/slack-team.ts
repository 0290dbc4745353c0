import type { WebClient, FetchFunction } from "@slack/web-api";
import type { Clock, Logger } from "../../shared/machine/ports.ts";

/** The app's identity in a workspace. Fields are empty until they are known. */
export type SlackIdentity = {
  botUserId: string;
  botId: string;
  botName: string;
  teamUrl: string;
  teamId: string;
  /** Of the workspace's organization. Also empty if it has none. */
  enterpriseId: string;
  /** The scopes that the app was granted. Null if Slack hasn't said. */
  scopes: readonly string[] | null;
};

/** True if the app has a scope, or if Slack hasn't said. */
export function grants({ scopes }: SlackIdentity, scope: string): boolean {
  return scopes?.includes(scope) !== false;
}

/** True once Slack has said who the app is. */
export function isKnown({ botUserId }: SlackIdentity): boolean {
  return botUserId !== "";
}

/** The workspace that the app is installed in, or the organization. Every team id stands for it. */
export type SlackTeam = { readonly client: WebClient; identity: SlackIdentity };

/** The team before Slack has said who the app is there. */
export function newTeam(client: WebClient): SlackTeam {
  const unknown = { botUserId: "", botId: "", teamUrl: "", teamId: "", enterpriseId: "" };
  return { client, identity: { ...unknown, botName: "docs-agent", scopes: null } };
}

/** What a reader of Slack needs. */
export type SlackDeps = { team: SlackTeam; clock: Pick<Clock, "monotonicMs">; logger: Logger };

/** Slack's time, read from the answers to calls made through it. */
export type SlackClock = ReturnType<typeof createSlackClock>;

/**
 * Posts are searched for by Slack's time, and a host's own clock may be minutes off. Between
 * answers, the monotonic clock counts on, so a step of the host's clock changes nothing.
 */
export function createSlackClock(clock: Pick<Clock, "now" | "monotonicMs">) {
  let seen: { dateMs: number; atMs: number } | null = null;
  return {
    /**
     * Epoch milliseconds, exact to the second and rather early than late. Before the first answer,
     * our own time.
     */
    timeMs(): number {
      return seen === null ? clock.now() : seen.dateMs + (clock.monotonicMs() - seen.atMs);
    },

    /** A fetch that reads each answer's `Date`. */
    watching(fetch: FetchFunction): FetchFunction {
      return async (url, init) => {
        const response = await fetch(url, init);
        const dateMs = Date.parse(response.headers.get("date") ?? "");
        // A proxy's page carries the proxy's time.
        const isSlacks = response.ok && response.headers.get("content-type")?.includes("json") === true;
        if (isSlacks && !Number.isNaN(dateMs)) seen = { dateMs, atMs: clock.monotonicMs() };
        return response;
      };
    },
  };
}
