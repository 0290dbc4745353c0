import { z } from "zod";
import { NO_SPACE, readProjects } from "./config-projects.ts";
import { FollowUps } from "../rules/thread/people.ts";
import { didYouMean } from "../../shared/text/did-you-mean.ts";
import { DocsAgentError } from "../../shared/errors.ts";
import { LOG_LEVELS } from "../../shared/machine/clock-and-log.ts";
import { HttpUrl, proxySecretsOf, readProxySettings } from "../../shared/machine/proxy.ts";
import { isRedisUrl, readRedisUrl } from "../../shared/store/redis/redis-location.ts";
import type { SlackSettings } from "../slack/connection/setup.ts";

const DAY_MS = 24 * 60 * 60_000;

/** Text that can notify only a person or channel it names, never a whole group. */
const CONTACT = /^(?:[^<>\n]|<[@#][A-Z0-9]{2,30}>)+$/;

/** `true` or `false`. */
const YesOrNo = z.enum(["true", "false"]).transform((value) => value === "true");

/** Origins, separated by commas. */
const HttpOrigins = z
  .string()
  .transform((list) => list.split(",").map((origin) => origin.trim()))
  .refine((origins) => origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin));

export type Config = ReturnType<typeof loadConfig>;

/** The settings are incomplete or wrong. The message lists every fault and contains no secret. */
export class ConfigError extends DocsAgentError {
  readonly code = "config";

  constructor(faults: string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    const settings = faults.length === 1 ? "1 setting" : `${faults.length} settings`;
    super(
      `Docs Agent can't start. Fix ${settings}:\n${list}\nSet them in the environment, or in a ` +
        "file .env next to package.json. See .env.example for all settings.",
    );
  }
}

/** A whole number with at most as many digits as the largest one. */
function whole(min: number, max: number): z.ZodType<number> {
  return z
    .string()
    .regex(new RegExp(`^\\d{1,${String(max).length}}$`))
    .transform(Number)
    .refine((number) => number >= min && number <= max);
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
  const faults: string[] = [];
  const settings = new Set<string>();

  /**
   * An empty value counts as absent: `NAME=` in a settings file means that nobody has filled it in.
   */
  function given(name: string): string | undefined {
    settings.add(name);
    const value = env[name]?.trim();
    return value === "" ? undefined : value;
  }
  function read<T>(name: string, schema: z.ZodType<T>, rule: string, fallback: T): T {
    const value = given(name);
    if (value === undefined) return fallback;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    faults.push(`${name} must be ${rule}.`);
    return fallback;
  }
  function need(name: string, schema: z.ZodType<string>, rule: string): string {
    if (given(name) === undefined) {
      faults.push(`${name} is missing. Set it to ${rule}.`);
      return "";
    }
    return read(name, schema, rule, "");
  }
  function milliseconds(name: string, fallback: number): number {
    return read(name, whole(1, 1e12 - 1), "a whole number of milliseconds, at least 1", fallback);
  }
  function requestsAnHour(name: string, fallback: number): number {
    return read(name, whole(0, 999_999), "a whole number of requests an hour, or 0 for no limit", fallback);
  }

  const botToken = need(
    "SLACK_BOT_TOKEN",
    z.string().regex(/^(?:xoxe\.)?xoxb-[\x21-\x7e]+$/),
    "the Bot User OAuth Token (xoxb-…) from OAuth & Permissions in your Slack app's settings",
  );
  const appToken = read(
    "SLACK_APP_TOKEN",
    z.string().regex(/^xapp-[\x21-\x7e]+$/),
    "an app-level token (xapp-…) with the scope connections:write, or left out to use HTTP",
    "",
  );
  const receive: SlackSettings["receive"] =
    given("SLACK_APP_TOKEN") === undefined
      ? {
          kind: "http",
          signingSecret: need(
            "SLACK_SIGNING_SECRET",
            z.string().regex(NO_SPACE),
            "the Signing Secret from Basic Information in your Slack app's settings (not needed " +
              "if SLACK_APP_TOKEN is set)",
          ),
        }
      : { kind: "socket", appToken };

  const { proxy, faults: faultsOfProxies } = readProxySettings(env);
  faults.push(...faultsOfProxies);
  const minMs = milliseconds("POLL_MIN_MS", 5000);
  const maxMs = milliseconds("POLL_MAX_MS", Math.max(60_000, minMs));
  if (maxMs < minMs) faults.push(`POLL_MAX_MS must be at least POLL_MIN_MS, which is ${minMs}.`);

  const config = {
    slack: {
      botToken,
      receive,
      apiUrl: read(
        "SLACK_API_URL",
        HttpUrl,
        "the http(s) URL of Slack's Web API, or left out",
        "https://slack.com/api/",
      ),
    },
    host: read("HOST", z.string().regex(NO_SPACE), "an address to listen on, such as 0.0.0.0", "0.0.0.0"),
    port: read("PORT", whole(0, 65_535), "a port number, 0 to 65535", 3000),
    /** The first is the default. */
    projects: readProjects({
      given,
      need,
      faults,
      idempotencyKeys: read("DOCS_AGENT_IDEMPOTENCY_KEYS", YesOrNo, "true or false", false),
    }),
    /** Origins of code hosts whose links are trusted although they are plain http. */
    httpOrigins: read(
      "PULL_REQUEST_HTTP_ORIGINS",
      HttpOrigins,
      "the origins of code hosts on your own network, separated by commas, such as http://git.internal:3000",
      [],
    ),
    storeUrl: read(
      "STORE_URL",
      z.string().refine((url) => /^(?:sqlite:\/\/.+|memory:\/\/)$/.test(url) || isRedisUrl(url)),
      "sqlite://path, such as sqlite://./data/docs-agent.sqlite, or redis://host:6379 for several " +
        "replicas (write a % in a password as %25), or memory://, which loses everything when the " +
        "process ends",
      "sqlite://./data/docs-agent.sqlite",
    ),
    polling: { minMs, maxMs, deadlineMs: milliseconds("JOB_DEADLINE_MS", 86_400_000) },
    jobServiceTimeoutMs: read(
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
      perPerson: requestsAnHour("REQUESTS_PER_PERSON", 100),
      perChannel: requestsAnHour("REQUESTS_PER_CHANNEL", 500),
    },
    /** The contact that messages name when only an operator can help, in mrkdwn. */
    helpContact: read(
      "HELP_CONTACT",
      z.string().max(300).regex(CONTACT),
      "a person (<@U012ABCDEF>), a channel (<#C012ABCDEF>) or a few words",
      "your Docs Agent admin",
    ),
    /** True if guests and people of other organizations may use the app, too. */
    allowGuests: read("ALLOW_GUESTS", YesOrNo, "true or false", false),
    followUps: read("FOLLOW_UPS", FollowUps, `one of ${FollowUps.options.join(", ")}`, "mention"),
    retentionMs: read("RETENTION_DAYS", whole(1, 99_999), "a whole number of days, at least 1", 90) * DAY_MS,
    logLevel: read("LOG_LEVEL", z.enum(LOG_LEVELS), `one of ${LOG_LEVELS.join(", ")}`, "info"),
  };
  // Other programs use the environment, too, so only likely misspellings of settings count. Short
  // names resemble too many others.
  const unset = [...settings].filter((name) => name.includes("_") && given(name) === undefined);
  for (const name of Object.keys(env)) {
    const meant = settings.has(name) ? null : didYouMean(name, unset);
    if (meant !== null) faults.push(`${name} isn't a setting. Did you mean ${meant}?`);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}
