import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import { StartError } from "../../../shared/errors.ts";
import { retryDelayMs } from "../../rules/retry.ts";
import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import { slackFault } from "../slack-faults.ts";
import { isKnown, type SlackTeam } from "../slack-team.ts";
import { lackingScopes, type WantedScopes } from "./setup.ts";

/** Health probes are frequent, and Slack limits the rate of calls. */
const FRESH_MS = 30_000;

/** The work needs only the ids. The name and the workspace's address are for people to read. */
const AuthTest = z.object({
  user_id: z.string().min(1),
  bot_id: z.string().default(""),
  user: z.string().default("docs-agent"),
  url: z.string().default(""),
  team_id: z.string().default(""),
  enterprise_id: z.string().nullish(),
});

export type SlackIdentityOptions = {
  /** Its timeout is the time for one call. */
  client: WebClient;
  /** Receives the app's identity. */
  team: SlackTeam;
  /** The scopes that settings need. Without them the app works, except for what they ask for. */
  wantedScopes: WantedScopes;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
};

/**
 * Asks Slack who the app is (`auth.test`) until it knows, and later checks that this still holds.
 */
export class SlackIdentityCheck {
  readonly #options: SlackIdentityOptions;
  #asking: Promise<SlackTrouble | null> | null = null;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #state = "";
  #cancelRetry = () => {};
  #isStopped = false;
  /** The scopes that Slack listed last, or null if it hasn't listed any. */
  #granted: string | null = null;
  /** What keeps people from using the app although Slack knows it, or null. */
  #fault: string | null = null;

  constructor(options: SlackIdentityOptions) {
    this.#options = options;
  }

  /**
   * Asks once. Rejects with a {@link StartError} if Slack refuses the token. After any other
   * trouble it keeps asking in the background.
   */
  async start(): Promise<void> {
    const trouble = await this.#ask();
    if (trouble?.isTokenRefused === true) {
      throw new StartError(
        `Slack does not accept SLACK_BOT_TOKEN (${trouble.error}). Copy the Bot User OAuth Token ` +
          "from OAuth & Permissions in your Slack app's settings, and install the app to the " +
          "workspace if it is not.",
      );
    }
    if (trouble !== null) this.#askAgain(1, trouble);
  }

  /** "ok", or what is wrong, as of the last answer. If that is old, asks again without waiting. */
  report(): string {
    const { team, clock } = this.#options;
    const isOld = clock.monotonicMs() - this.#askedAtMs >= FRESH_MS;
    if (isKnown(team.identity) && isOld && !this.#isStopped) void this.#ask();
    if (this.#state === "ok" && this.#fault !== null) return this.#fault;
    return this.#state === "" ? "not asked yet" : this.#state;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelRetry();
  }

  #askAgain(attempt: number, trouble: SlackTrouble): void {
    const { clock, random } = this.#options;
    const delayMs = reconnectDelayMs(attempt, trouble, random());
    this.#cancelRetry = clock.wakeAt(clock.now() + delayMs, () => {
      void this.#ask().then((next) => {
        if (next !== null && !this.#isStopped) this.#askAgain(attempt + 1, next);
      });
    });
  }

  /** Resolves to null once Slack has said who the app is. Callers share one call at a time. */
  #ask(): Promise<SlackTrouble | null> {
    this.#asking ??= this.#authTest().finally(() => (this.#asking = null));
    return this.#asking;
  }

  async #authTest(): Promise<SlackTrouble | null> {
    const { client, team, clock } = this.#options;
    this.#askedAtMs = clock.monotonicMs();
    let granted: readonly string[] | undefined;
    try {
      const answered = await client.auth.test();
      const answer = AuthTest.safeParse(answered);
      if (!answer.success) {
        const error = `${client.slackApiUrl} doesn't answer like Slack. Check SLACK_API_URL.`;
        this.#say(error);
        return { error, isTokenRefused: false, retryAfterMs: 0 };
      }
      const { user_id, bot_id, user, url, team_id, enterprise_id } = answer.data;
      team.identity = {
        botUserId: user_id,
        botId: bot_id,
        botName: user,
        teamUrl: url,
        teamId: team_id,
        enterpriseId: enterprise_id ?? "",
        scopes: answered.response_metadata?.scopes ?? null,
      };
      granted = answered.response_metadata?.scopes;
    } catch (thrown) {
      const trouble = slackTrouble(thrown);
      this.#say(
        trouble.isTokenRefused
          ? `${trouble.error}: Slack does not accept SLACK_BOT_TOKEN`
          : `${trouble.error}: Slack can't be reached`,
      );
      return trouble;
    }
    this.#say("ok");
    await this.#noteScopes(granted);
    return null;
  }

  /** Logs what the app lacks, once, as soon as Slack has listed the granted scopes. */
  async #noteScopes(granted: readonly string[] | undefined): Promise<void> {
    if (granted === undefined) return;
    const { wantedScopes, logger } = this.#options;
    const listed = granted.toSorted().join(" ");
    if (listed === this.#granted) return;
    this.#granted = listed;
    const lacking = await lackingScopes(granted, wantedScopes).catch((error: unknown) => {
      logger.error({ err: error }, "the app's scopes can't be compared with manifest.yml");
      return null;
    });
    if (lacking === null) return;
    const { fault, wanted, optional } = lacking;
    this.#fault = fault;
    if (fault !== null) logger.error({}, fault);
    for (const [setting, missing] of Object.entries(wanted)) {
      logger.warn({ missing }, `${setting} needs scopes that the app doesn't have. Reinstall it.`);
    }
    if (Object.keys(optional).length > 0) logger.warn({ without: optional }, "the app lacks optional scopes");
  }

  /** Logs changes, not every attempt. */
  #say(state: string): void {
    const { team, logger } = this.#options;
    const before = this.#state;
    this.#state = state;
    if (state === before || this.#isStopped) return;
    if (state === "ok") {
      if (before !== "") logger.info({ bot: team.identity.botName }, "Slack answers again");
      return;
    }
    logger.warn(
      { slack: state, is_bot_known: isKnown(team.identity) },
      "Slack does not say who this app is; asking again",
    );
  }
}

/** Why a call to Slack failed. */
export type SlackTrouble = {
  /** Slack's error code, or the network's. */
  error: string;
  /** True if Slack refuses the token. Asking again soon gives the same answer. */
  isTokenRefused: boolean;
  /** The wait that Slack asked for, milliseconds, or 0. */
  retryAfterMs: number;
};

const MAX_RETRY_MS = 30_000;
/** Only an operator can fix a refused token. */
const REFUSED_RETRY_MS = 60_000;

/** The time before the next attempt to reach Slack, milliseconds. `random` is uniform in [0, 1). */
export function reconnectDelayMs(
  attempt: number,
  { isTokenRefused, retryAfterMs }: Omit<SlackTrouble, "error">,
  random: number,
): number {
  const backoffMs = Math.min(MAX_RETRY_MS, retryDelayMs({ attempt, retryAfterMs: 0, random }));
  return Math.max(isTokenRefused ? REFUSED_RETRY_MS : backoffMs, retryAfterMs);
}

/** Interprets a failed read-only call as trouble with the connection to Slack. */
export function slackTrouble(thrown: unknown): SlackTrouble {
  const { kind, error, retryAfterMs = 0 } = slackFault(thrown);
  return { error, isTokenRefused: kind === "credentials", retryAfterMs };
}
