import { WebClient } from "@slack/web-api";
import { createSlackSide, type SlackSide } from "../../../world/slack/index.ts";
import type { Message, Notifier, PostLabel } from "../../../src/app/rules/ports/notifier.ts";
import type { Place } from "../../../src/app/rules/turn/request.ts";
import { createSlackClock, type SlackTeam } from "../../../src/app/slack/slack-team.ts";
import { createSlackNotifier } from "../../../src/app/slack/slack-notifier.ts";
import { makeRequest, makeTurn } from "../../support/builders.ts";
import { manifestScopes } from "../../support/manifest.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { silentSlackLogger } from "../../support/silent-slack-logger.ts";

export const TEAM = "T0TEAM";
export const ANA = "U0ANA";
export const DOCS = "C0DOCS";
/** The bot is not in it. */
export const RANDOM = "C0RANDOM";
export const MINUTE_MS = 60_000;
const BOT_TOKEN = "xoxb-1234567890-abcdefghijkl";

export const docs: Place = { teamId: TEAM, channelId: DOCS, threadTs: null };
export const random: Place = { teamId: TEAM, channelId: RANDOM, threadTs: null };

/** A host's clock, which a test moves, and may set wrong. */
export class HostClock {
  #monotonicMs = 0;
  #nowMs: number;

  constructor(startMs: number = Date.UTC(2026, 0, 5, 9)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Time goes by. */
  advance(ms: number): void {
    this.#nowMs += ms;
    this.#monotonicMs += ms;
  }

  /** Somebody sets the clock. */
  step(ms: number): void {
    this.#nowMs += ms;
  }
}

export type Side = AsyncDisposable & {
  slack: SlackSide;
  notifier: Notifier;
  team: SlackTeam;
  clock: HostClock;
  logger: RecordingLogger;
};

/** The notifier with a real client, before a Slack in which the bot is in #docs. Slack's clock is ahead by `slackAheadMs`. */
export async function startSide(
  options: { without?: string[]; slackAheadMs?: number; isAgent?: boolean } = {},
): Promise<Side> {
  const clock = new HostClock();
  const slack = await createSlackSide({
    now: () => clock.monotonicMs() + Date.UTC(2026, 0, 5, 9) + (options.slackAheadMs ?? 0),
    isAgent: options.isAgent ?? false,
    scopes: manifestScopes().filter((scope) => options.without?.includes(scope) !== true),
    signingSecret: "secret",
    botToken: BOT_TOKEN,
    seed: {
      users: [{ id: ANA, name: "ana", realName: "Ana Lima", displayName: "Ana" }],
      channels: [
        { id: DOCS, name: "docs", members: [ANA] },
        { id: RANDOM, name: "random", members: [ANA] },
      ],
    },
  });
  slack.workspace.invite(DOCS);
  const slackClock = createSlackClock(clock);
  const logger = new RecordingLogger();
  const team = {
    client: new WebClient(BOT_TOKEN, {
      slackApiUrl: slack.apiUrl,
      fetch: slackClock.watching(fetch),
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: 5000,
      logger: silentSlackLogger,
    }),
    identity: {
      botUserId: slack.workspace.bot.userId,
      botId: slack.workspace.bot.botId,
      botName: "docs-agent",
      teamUrl: slack.workspace.team.url,
      teamId: slack.workspace.team.id,
      enterpriseId: "",
      scopes: null,
    },
  };
  const notifier = createSlackNotifier({
    team,
    presentation: {
      asksForProject: false,
      isAskOnly: () => false,
      projects: ["docs"],
      watchedFor: "1 day",
      contact: "your Docs Agent admin",
      httpOrigins: [],
    },
    slackClock,
    logger,
    timeoutMs: 5000,
  });
  return { slack, notifier, team, clock, logger, [Symbol.asyncDispose]: () => slack.close() };
}

export const label: PostLabel = { turnId: "command:1.2.3", post: "status" };

/** A status message that quotes `instructions`. */
export function status(instructions = "Fix the install command"): Message {
  const request = makeRequest({ teamId: TEAM, userId: ANA, channelId: DOCS, instructions });
  return { kind: "status", turn: makeTurn({ request }), movedBecause: null };
}

/** The value of an answer that has to be good. */
export function valueOf<T>(answer: { ok: true; value: T } | { ok: false; fault: object }): T {
  if (!answer.ok) throw new Error(`expected no fault: ${JSON.stringify(answer.fault)}`);
  return answer.value;
}

/** The fault of an answer that has to be bad. */
export function faultOf<F extends object>(answer: { ok: true } | { ok: false; fault: F }): F {
  if (answer.ok) throw new Error("expected a fault");
  return answer.fault;
}

/** A response URL as Ana's command in a channel brings it; the app hears nothing of the command. */
export async function responseUrlIn({ slack }: Side, channel: string): Promise<string> {
  const { delivery } = await slack.person(ANA).command({ channel, text: "fix it" });
  return new URLSearchParams(delivery.body).get("response_url") ?? "";
}

/** What Ana alone reads from the app, oldest first. */
export function toldPrivately({ slack }: Side): string[] {
  const { userId } = slack.workspace.bot;
  return slack
    .ephemerals(ANA)
    .filter(({ from }) => from === userId)
    .map((shown) => slack.visibleText(shown));
}
