import { setTimeout } from "node:timers/promises";
import { type WebAPICallResult, WebClient, type WebClientOptions } from "@slack/web-api";
import { BoltApp, IdentityUnknownError } from "./bolt-app.ts";
import { createLineSampler, type SampleLine, slackLogger } from "./log-lines.ts";
import type { Logger } from "../../../shared/machine/ports.ts";
import { isProxied, type ProxySettings } from "../../../shared/machine/proxy.ts";
import { createSlackClock, newTeam } from "../slack-team.ts";
import type { Measure } from "../../rules/ports/measure.ts";
import { slackFault } from "../slack-faults.ts";
import { SlackIdentityCheck, type SlackIdentityOptions } from "./identity.ts";
import { HttpReceiver } from "./http-receiver.ts";
import { createSlackListener } from "./listener.ts";
import { isSlackItself, signingSecretFault, type SlackSettings } from "./setup.ts";
import { SocketMode } from "./socket-mode.ts";

/** Timeout of one call to Slack's Web API, milliseconds. */
export const SLACK_TIMEOUT_MS = 10_000;
const IDENTITY_TIMEOUT_MS = 3000;
/** Time that handlers which have already acknowledged get to finish at a stop. */
const DRAIN_MS = 1000;

type SlackConnectionOptions = Omit<SlackIdentityOptions, "client" | "team"> & {
  slack: SlackSettings;
  proxy: ProxySettings;
  /** True if no other program is to receive the app's requests. */
  isOnly: boolean;
  measure: Measure;
};

/**
 * The app's connection to Slack: incoming requests, the team to answer, and whether Slack can be
 * reached. Nothing is called or connected yet.
 */
export function createSlackConnection(options: SlackConnectionOptions) {
  const { slack, proxy, clock, logger } = options;
  const sample = createLineSampler(clock);
  const sdkLogger = slackLogger(logger, sample);
  const ofClient = (timeout: number) => clientOptions(slack, sdkLogger, timeout);
  const slackClock = createSlackClock(clock);
  const client = new MeasuredClient(options.measure, slack.botToken, {
    ...ofClient(SLACK_TIMEOUT_MS),
    fetch: slackClock.watching(fetch),
  });
  const team = newTeam(client);
  const identity = new SlackIdentityCheck({
    ...options,
    client: new MeasuredClient(options.measure, slack.botToken, {
      ...ofClient(IDENTITY_TIMEOUT_MS),
      // This call is answered first, so that even the first post has Slack's time.
      fetch: slackClock.watching(fetch),
    }),
    team,
  });

  const logFailure = createFailureLog(logger, sample);
  const { receive } = slack;
  const receiver =
    receive.kind === "http"
      ? createHttpReceiver(logger, sample, logFailure)
      : new SocketMode({
          ...options,
          receiver: () => socketOptions(receive.appToken, ofClient(SLACK_TIMEOUT_MS), proxy, logFailure),
          drain: () => bolt.drain(),
        });
  const bolt: BoltApp = new BoltApp({
    receiver,
    team,
    clientOptions: ofClient(SLACK_TIMEOUT_MS),
    logger,
    sample,
  });

  const socket = receiver instanceof SocketMode ? receiver : null;
  const secretFault = signingSecretFault(slack);
  const requestListener: ReturnType<typeof createSlackListener> =
    receive.kind === "http" && receiver instanceof HttpReceiver
      ? createSlackListener({ ...receive, receiver, clock, logger, sample })
      : (_, response) => void response.writeHead(404).end();

  return {
    bolt,
    team,
    /** Slack's time, from the answers to the team's client. */
    slackClock,
    /** Handles Slack's requests. Answers 404 to others, and to all of them in Socket Mode. */
    requestListener,
    /** "ok", or what is wrong with the connection to Slack. Doesn't wait for Slack. */
    report(): string {
      const states = new Set([identity.report(), socket?.report() ?? "ok"]);
      states.delete("ok");
      return [...states].join("; ") || "ok";
    },
    /**
     * Asks Slack who the app is. Rejects only if Slack refuses the bot token, with a `StartError`.
     */
    async identify(): Promise<void> {
      if (secretFault !== null) logger[isSlackItself(slack) ? "error" : "warn"]({}, secretFault);
      await identity.start();
    },
    /** What keeps people from using the app, each with what to do, as far as it is known. */
    missing(): string[] {
      const socketTrouble = socket?.report() ?? "ok";
      const trouble = [identity.report(), socketTrouble].filter((state) => state !== "ok");
      return [...new Set([...(secretFault === null ? [] : [secretFault]), ...trouble])];
    },
    /**
     * Starts receiving requests over Socket Mode. Rejects only if Slack refuses the app token, with
     * a `StartError`.
     */
    async connect(): Promise<void> {
      await socket?.start();
    },
    /** Accepts nothing more and waits, for a bounded time, for everything in progress. */
    async stop(): Promise<void> {
      identity.stop();
      await socket?.stop();
      await Promise.race([bolt.drain(), setTimeout(DRAIN_MS, undefined, { ref: false })]);
    },
  };
}

/** Says of each call that fails that it did, and how. */
class MeasuredClient extends WebClient {
  readonly #measure: Measure;

  constructor(measure: Measure, ...args: ConstructorParameters<typeof WebClient>) {
    super(...args);
    this.#measure = measure;
  }

  override async apiCall(...[method, options]: Parameters<WebClient["apiCall"]>): Promise<WebAPICallResult> {
    try {
      return await super.apiCall(method, options);
    } catch (thrown) {
      const { error, retryAfterMs = 0 } = slackFault(thrown);
      this.#measure({ kind: "slack-refused", method, error, retryAfterMs });
      throw thrown;
    }
  }
}

type SdkLogger = ReturnType<typeof slackLogger>;

/** Logs, in one line, that something Slack sent failed here. */
type FailureLog = (error: unknown, isAcknowledged: boolean) => void;

/** The options of one client. Each needs a new object, because the SDK writes to it. */
function clientOptions(
  { apiUrl }: SlackSettings,
  logger: SdkLogger,
  timeout: number,
): WebClientOptions & { logger: SdkLogger } {
  return {
    slackApiUrl: apiUrl,
    logger,
    // The task queue does the retrying: posting isn't idempotent, and a 429 must not hold up other
    // calls.
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout,
  };
}

function createFailureLog(logger: Logger, sample: SampleLine): FailureLog {
  return (error, isAcknowledged) => {
    const thrown = error instanceof Error && "original" in error ? error.original : error;
    if (thrown instanceof IdentityUnknownError) {
      sample(thrown.code, (repeated) => logger.warn({ ...repeated }, thrown.message));
      return;
    }
    logger.error({ err: thrown, is_acknowledged: isAcknowledged }, "could not handle what Slack sent");
  };
}

function createHttpReceiver(logger: Logger, sample: SampleLine, logFailure: FailureLog): HttpReceiver {
  return new HttpReceiver({
    onFailure(error, isAcknowledged) {
      logFailure(error, isAcknowledged);
      // Slack redelivers an event that was refused.
      return error instanceof IdentityUnknownError ? 503 : 500;
    },
    onUnhandled() {
      sample("unhandled", (repeated) =>
        logger.warn({ ...repeated }, "Slack sent something that nothing here handled within 3 s"),
      );
    },
  });
}

/** The options of Bolt's receiver for Socket Mode. */
async function socketOptions(
  appToken: string,
  ofClient: ReturnType<typeof clientOptions>,
  proxy: ProxySettings,
  logFailure: FailureLog,
) {
  return {
    appToken,
    ...(isProxied(proxy) && {
      dispatcher: (await import("../../../shared/machine/dispatcher.ts")).createDispatcher(proxy),
    }),
    logger: ofClient.logger,
    installerOptions: { clientOptions: ofClient },
    async processEventErrorHandler({ error }: { error: unknown }) {
      logFailure(error, false);
      return false;
    },
  };
}
