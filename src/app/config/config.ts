import { z } from "zod";
import { CHANNEL_ID, NO_SPACE, readProjects } from "./config-projects.ts";
import type { AccessSettings } from "../rules/access.ts";
import { FollowUps } from "../rules/thread/people.ts";
import { DocsAgentError } from "../../shared/errors.ts";
import { LOG_LEVELS } from "../../shared/machine/clock-and-log.ts";
import { HttpUrl, proxySecretsOf, readProxySettings } from "../../shared/machine/proxy.ts";
import { parseMetricsAddress, WANT_METRICS_ADDRESS } from "../../shared/machine/serve-metrics.ts";
import { isRedisUrl, readRedisUrl } from "../../shared/store/redis/redis-location.ts";
import { SettingsReader, whole } from "../../shared/machine/settings-reader.ts";
import type { SlackSettings } from "../slack/connection/setup.ts";

const DAY_MS = 24 * 60 * 60_000;

/** Text that can notify only a person or channel it names, never a whole group. */
const CONTACT = /^(?:[^<>\n]|<[@#][A-Z0-9]{2,30}>)+$/;

/** Origins, separated by commas. */
const HttpOrigins = z
  .string()
  .transform((list) => list.split(",").map((origin) => origin.trim()))
  .refine((origins) => origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin));

const MetricsSetting = z
  .string()
  .transform(parseMetricsAddress)
  .refine((address) => address !== null);

/** Different ids of this form, separated by commas. */
function idsLike(form: RegExp): z.ZodType<string[]> {
  return z
    .string()
    .transform((list) => [...new Set(list.split(",").map((id) => id.trim()))])
    .refine((ids) => ids.every((id) => form.test(id)));
}

export type Config = ReturnType<typeof loadConfig>;

/** The settings are incomplete or wrong. The message lists every fault and contains no secret. */
export class ConfigError extends DocsAgentError {
  readonly code = "config";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    const settings = faults.length === 1 ? "1 setting" : `${faults.length} settings`;
    super(
      `Docs Agent can't start. Fix ${settings}:\n${list}\nSet them in the environment, or in a ` +
        "file .env next to package.json. See .env.example for all settings.",
    );
    this.faults = faults;
  }
}

/** A name like `@anna`, which Slack shows as plain words. `<@U012ABCDEF>` doesn't match. */
const PLAIN_NAME = /(?:^|[\s(,])[@#][^\s@#<>]/;

/** What is unfortunate about a contact that messages name, with what to do, or null. */
export function contactWarning({ helpContact }: Config): string | null {
  if (!PLAIN_NAME.test(helpContact)) return null;
  return (
    `HELP_CONTACT notifies nobody: Slack shows ${helpContact} as plain words. Set it to <@U012ABCDEF>, ` +
    "with the member ID from the person's profile, or <#C012ABCDEF> for a channel."
  );
}

const LEAST_DEADLINE_MS = 60_000;

/** What to do if the app can't listen. */
export const PORT_REMEDY = "Put a free one in PORT, or an address of this machine in HOST.";

/** What is unfortunate about times that were likely meant in another unit, or null. */
export function timesWarning({ polling }: Config): string | null {
  if (polling.deadlineMs >= LEAST_DEADLINE_MS) return null;
  return (
    `JOB_DEADLINE_MS ends each request after ${polling.deadlineMs} milliseconds, when no agent is done. ` +
    "A day has 86400000."
  );
}

/** All secrets of a configuration, which must not appear in anything that leaves the process. */
export function secretsOf(config: Config): string[] {
  const { botToken, receive } = config.slack;
  const received = receive.kind === "http" ? receive.signingSecret : receive.appToken;
  const apiKeys = config.projects.map((project) => project.apiKey);
  const stored = readRedisUrl(config.storeUrl)?.password ?? "";
  const store = stored === "" ? [] : [stored, decodeURIComponent(stored)];
  return [botToken, received, ...apiKeys, ...proxySecretsOf(config.proxy), ...store];
}

/** Reads the configuration. Throws a {@link ConfigError} that lists every fault at once. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>) {
  const from = new SettingsReader(env);
  const slack = readSlack(from);
  const { proxy, faults } = readProxySettings(env);
  from.faults.push(...faults);
  const polling = readPolling(from);
  const config = {
    slack: {
      ...slack,
      apiUrl: from.read(
        "SLACK_API_URL",
        HttpUrl,
        "the http(s) URL of Slack's Web API, or left out",
        "https://slack.com/api/",
      ),
    },
    host: from.read(
      "HOST",
      z.string().regex(NO_SPACE),
      "an address to listen on, such as 0.0.0.0",
      "0.0.0.0",
    ),
    port: from.read("PORT", whole(0, 65_535), "a port number, 0 to 65535", 3000),
    /** Where metrics are served. Null if they aren't. */
    metricsAddress: from.read("METRICS_ADDRESS", MetricsSetting, WANT_METRICS_ADDRESS, null),
    /** The first is the default if none names its channels. */
    projects: readProjects(from, from.readYesOrNo("DOCS_AGENT_IDEMPOTENCY_KEYS")),
    /** Origins of code hosts whose links are trusted although they are plain http. */
    httpOrigins: from.read(
      "PULL_REQUEST_HTTP_ORIGINS",
      HttpOrigins,
      "the origins of code hosts on your own network, separated by commas, such as http://git.internal:3000",
      [],
    ),
    storeUrl: readStoreUrl(from),
    polling: { ...polling, deadlineMs: from.milliseconds("JOB_DEADLINE_MS", 86_400_000) },
    jobServiceTimeoutMs: from.read(
      "JOB_SERVICE_TIMEOUT_MS",
      // A longer timer would end after a millisecond.
      whole(1, 2 ** 31 - 1),
      "a whole number of milliseconds from 1 to 2147483647",
      15_000,
    ),
    /** The proxies to Slack and the job services. */
    proxy,
    /** Requests an hour accepted from one person and in one channel. 0 means no limit. */
    limits: {
      perPerson: from.requestsAnHour("REQUESTS_PER_PERSON", 100),
      perChannel: from.requestsAnHour("REQUESTS_PER_CHANNEL", 500),
    },
    /** The contact that messages name when only an operator can help, in mrkdwn. */
    helpContact: from.read(
      "HELP_CONTACT",
      z.string().max(300).regex(CONTACT),
      "a person (<@U012ABCDEF>), a channel (<#C012ABCDEF>) or a few words",
      "your Docs Agent admin",
    ),
    /** True if guests and people of other organizations may use the app, too. */
    allowGuests: from.readYesOrNo("ALLOW_GUESTS"),
    access: {
      /** Empty: everywhere. */
      channels: from.read(
        "ALLOW_CHANNELS",
        idsLike(CHANNEL_ID),
        "the ids of channels, separated by commas, such as C012ABCDEF (see View channel details in Slack)",
        [],
      ),
      /** Empty: every member. */
      groups: from.read(
        "ALLOW_GROUPS",
        idsLike(/^S[A-Z0-9]{2,30}$/),
        "the ids of user groups, separated by commas, such as S012ABCDEF (see the group's menu in Slack)",
        [],
      ),
      /** The channels in which the app only answers. */
      askOnly: from.read(
        "ASK_ONLY",
        z.union([z.literal("all"), idsLike(CHANNEL_ID)]),
        "all, or the ids of channels, separated by commas, such as C012ABCDEF (see View channel details in " +
          "Slack)",
        [],
      ),
    } satisfies AccessSettings,
    followUps: from.readWord("FOLLOW_UPS", FollowUps.options, "mention"),
    retentionMs:
      from.read("RETENTION_DAYS", whole(1, 99_999), "a whole number of days, at least 1", 90) * DAY_MS,
    logLevel: from.readWord("LOG_LEVEL", LOG_LEVELS, "info"),
  };
  from.findMisspelled();
  if (from.faults.length > 0) throw new ConfigError(from.faults);
  return config;
}

/** Reads how the app is connected to Slack. */
function readSlack(from: SettingsReader): Pick<SlackSettings, "botToken" | "receive"> {
  const botToken = from.needSecret(
    "SLACK_BOT_TOKEN",
    z.string().regex(/^(?:xoxe\.)?xoxb-[\x21-\x7e]+$/),
    "the Bot User OAuth Token (xoxb-…) from OAuth & Permissions in your Slack app's settings",
  );
  const receive: SlackSettings["receive"] =
    from.given("SLACK_APP_TOKEN") === undefined
      ? {
          kind: "http",
          signingSecret: from.needSecret(
            "SLACK_SIGNING_SECRET",
            z.string().regex(NO_SPACE),
            "the Signing Secret from Basic Information in your Slack app's settings (not needed " +
              "if SLACK_APP_TOKEN is set)",
          ),
        }
      : {
          kind: "socket",
          appToken: from.needSecret(
            "SLACK_APP_TOKEN",
            z.string().regex(/^xapp-[\x21-\x7e]+$/),
            "an app-level token (xapp-…) with the scope connections:write, or leave it out to use HTTP",
          ),
        };
  return { botToken, receive };
}

/** Reads how long the app waits between polls. */
function readPolling(from: SettingsReader): { minMs: number; maxMs: number } {
  const minMs = from.milliseconds("POLL_MIN_MS", 5000);
  const maxMs = from.milliseconds("POLL_MAX_MS", Math.max(60_000, minMs));
  if (maxMs < minMs) from.faults.push(`POLL_MAX_MS must be at least POLL_MIN_MS, which is ${minMs}.`);
  return { minMs, maxMs };
}

/** Reads where tasks and records are kept. */
function readStoreUrl(from: SettingsReader): string {
  return from.read(
    "STORE_URL",
    z.string().refine((url) => /^(?:sqlite:\/\/.+|memory:\/\/)$/.test(url) || isRedisUrl(url)),
    "sqlite://path, such as sqlite://./data/docs-agent.sqlite, or redis://host:6379 for several " +
      "replicas (in a password, write # as %23, / as %2F, ? as %3F and % as %25), or " +
      "redis+sentinel://a,b,c/name, or memory://, which loses everything when the process ends",
    "sqlite://./data/docs-agent.sqlite",
  );
}
