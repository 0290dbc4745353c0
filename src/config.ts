import { z } from "zod";
import { readProjects } from "./config-projects.ts";
import type { Project } from "./config-projects.ts";
import { HttpOrigins, HttpUrl, NO_SPACE, ProxyUrl, YesOrNo } from "./config-values.ts";
import { DocsAgentError } from "./errors.ts";
import { LOG_LEVELS } from "./logger.ts";
import { proxySecretsOf, type ProxySettings } from "./proxy.ts";
import { isRedisUrl, readRedisUrl } from "./store/redis/redis-location.ts";
import { FollowUps } from "./intake/deps.ts";
import type { SlackSettings } from "./slack/connection.ts";

/** Text in which nobody is notified but a person or a channel that it names. */
const CONTACT = /^(?:[^<>\n]|<[@#][A-Z0-9]{2,30}>)+$/;

export type Config = {
  slack: SlackSettings;
  host: string;
  port: number;
  /** The first is the default. */
  projects: [Project, ...Project[]];
  /** Origins of code hosts whose links are trusted although they are plain http. */
  httpOrigins: string[];
  storeUrl: string;
  polling: { minMs: number; maxMs: number; deadlineMs: number };
  jobServiceTimeoutMs: number;
  /** Requests an hour that are accepted from one person, and in one channel. 0: no limit. */
  limits: { perPerson: number; perChannel: number };
  /** Whom messages name when only an operator can help: mrkdwn. */
  helpContact: string;
  followUps: FollowUps;
  /** The way to Slack and to the job services. */
  proxy: ProxySettings;
  retentionDays: number;
  logLevel: (typeof LOG_LEVELS)[number];
};

/** The settings are incomplete or wrong. The message lists every fault and contains no secret. */
export class ConfigError extends DocsAgentError {
  readonly code = "config";

  constructor(faults: string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    super(
      `Docs Agent cannot start: ${faults.length === 1 ? "one setting is" : `${faults.length} settings are`} missing or wrong.\n${list}\nSee .env.example for every setting. Settings come from the environment, or from a file .env beside package.json.`,
    );
  }
}

function isStoreUrl(url: string): boolean {
  return /^(?:sqlite:\/\/.+|memory:\/\/)$/.test(url) || isRedisUrl(url);
}

/** All secrets of a configuration, to be kept out of everything that leaves the process. */
export function secretsOf(config: Config): string[] {
  const { botToken, receive } = config.slack;
  const received = receive.kind === "http" ? receive.signingSecret : receive.appToken;
  const apiKeys = config.projects.map((project) => project.apiKey);
  const stored = readRedisUrl(config.storeUrl)?.password ?? "";
  const store = stored === "" ? [] : [stored, decodeURIComponent(stored)];
  return [botToken, received, ...apiKeys, ...proxySecretsOf(config.proxy), ...store];
}

/** Reads the configuration. Throws a {@link ConfigError} that lists every fault at once. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = [];

  /** An empty value counts as absent: `NAME=` in a settings file means that nobody has filled it in. */
  function given(name: string): string | undefined {
    const value = env[name]?.trim();
    return value === "" ? undefined : value;
  }
  function read<T>(name: string, schema: z.ZodType<T>, want: string, fallback: T): T {
    const value = given(name);
    if (value === undefined) return fallback;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    faults.push(`${name} is not valid: ${want}.`);
    return fallback;
  }
  function need(name: string, schema: z.ZodType<string>, want: string): string {
    if (given(name) === undefined) {
      faults.push(`${name} is missing: ${want}.`);
      return "";
    }
    return read(name, schema, want, "");
  }
  function milliseconds(name: string, fallback: number): number {
    const schema = z
      .string()
      .regex(/^\d{1,12}$/)
      .transform(Number)
      .refine((ms) => ms >= 1);
    return read(name, schema, `put a whole number of milliseconds, for example ${fallback}`, fallback);
  }

  function requestsAnHour(name: string, fallback: number): number {
    const schema = z
      .string()
      .regex(/^\d{1,6}$/)
      .transform(Number);
    const want = `put how many requests an hour are taken, for example ${fallback}, or 0 for as many as come`;
    return read(name, schema, want, fallback);
  }

  const botToken = need(
    "SLACK_BOT_TOKEN",
    z.string().regex(/^(?:xoxe\.)?xoxb-[\x21-\x7e]+$/),
    "put the Bot User OAuth Token (xoxb-…) from OAuth & Permissions in your Slack app's settings",
  );
  const appToken = read(
    "SLACK_APP_TOKEN",
    z.string().regex(/^xapp-[\x21-\x7e]+$/),
    "put an app-level token (xapp-…) with the scope connections:write, or leave it out to receive over HTTP",
    "",
  );
  const receive: Config["slack"]["receive"] =
    given("SLACK_APP_TOKEN") === undefined
      ? {
          kind: "http",
          signingSecret: need(
            "SLACK_SIGNING_SECRET",
            z.string().regex(NO_SPACE),
            "put the Signing Secret from Basic Information in your Slack app's settings (or set SLACK_APP_TOKEN to use Socket Mode)",
          ),
        }
      : { kind: "socket", appToken };

  /** curl and others read the lower-case name first. */
  function proxySetting(name: string, schema: z.ZodType<string>, want: string): string {
    return read(given(name.toLowerCase()) === undefined ? name : name.toLowerCase(), schema, want, "");
  }
  const wantProxy = "put the http(s) URL of your proxy, for example http://proxy.internal:3128";

  const minMs = milliseconds("POLL_MIN_MS", 5000);
  const maxMs = milliseconds("POLL_MAX_MS", Math.max(60_000, minMs));
  if (maxMs < minMs) faults.push(`POLL_MAX_MS is not valid: put at least POLL_MIN_MS, which is ${minMs}.`);

  const config: Config = {
    slack: {
      botToken,
      receive,
      apiUrl: read(
        "SLACK_API_URL",
        HttpUrl,
        "put the http(s) URL of Slack's Web API, or leave it out",
        "https://slack.com/api/",
      ),
    },
    host: read(
      "HOST",
      z.string().regex(NO_SPACE),
      "put an address to listen on, for example 0.0.0.0",
      "0.0.0.0",
    ),
    port: read(
      "PORT",
      z
        .string()
        .regex(/^\d{1,5}$/)
        .transform(Number)
        .refine((port) => port <= 65_535),
      "put a port number, 0 to 65535",
      3000,
    ),
    projects: readProjects({
      given,
      need,
      faults,
      idempotencyKeys: read("DOCS_AGENT_IDEMPOTENCY_KEYS", YesOrNo, "put true or false", false),
    }),
    httpOrigins: read(
      "PULL_REQUEST_HTTP_ORIGINS",
      HttpOrigins,
      "put the origins of code hosts on your own network, separated by commas, for example http://git.internal:3000",
      [],
    ),
    storeUrl: read(
      "STORE_URL",
      z.string().refine(isStoreUrl),
      "put sqlite://path, for example sqlite://./data/docs-agent.sqlite, or redis://host:6379 for several replicas, with a % in a password written as %25 (memory:// loses everything when the process ends)",
      "sqlite://./data/docs-agent.sqlite",
    ),
    polling: { minMs, maxMs, deadlineMs: milliseconds("JOB_DEADLINE_MS", 86_400_000) },
    jobServiceTimeoutMs: milliseconds("JOB_SERVICE_TIMEOUT_MS", 15_000),
    proxy: {
      http: proxySetting("HTTP_PROXY", ProxyUrl, wantProxy),
      https: proxySetting("HTTPS_PROXY", ProxyUrl, wantProxy),
      none: proxySetting("NO_PROXY", z.string(), ""),
    },
    limits: {
      perPerson: requestsAnHour("REQUESTS_PER_PERSON", 100),
      perChannel: requestsAnHour("REQUESTS_PER_CHANNEL", 500),
    },
    helpContact: read(
      "HELP_CONTACT",
      z.string().max(300).regex(CONTACT),
      "put whom people should contact as Slack writes it: <@U012ABCDEF>, <#C012ABCDEF> or a few words",
      "your Docs Agent admin",
    ),
    followUps: read("FOLLOW_UPS", FollowUps, `put one of ${FollowUps.options.join(", ")}`, "mention"),
    retentionDays: read(
      "RETENTION_DAYS",
      z
        .string()
        .regex(/^\d{1,5}$/)
        .transform(Number)
        .refine((days) => days >= 1),
      "put a whole number of days, at least 1",
      90,
    ),
    logLevel: read("LOG_LEVEL", z.enum(LOG_LEVELS), `put one of ${LOG_LEVELS.join(", ")}`, "info"),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}
