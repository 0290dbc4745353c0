import { z } from "zod";
import { DocsAgentError } from "./errors.ts";
import { LOG_LEVELS } from "./logger.ts";
import { proxySecretsOf, type ProxySettings } from "./proxy.ts";

/** A docs project at a job service. `idempotencyKeys`: that service honors them although its answers don't announce it. */
export type Project = {
  name: string;
  id: string;
  apiKey: string;
  baseUrl: string;
  idempotencyKeys: boolean;
};

export type Config = {
  slack: {
    botToken: string;
    apiUrl: string;
    /** How requests come in from Slack. */
    receive: { kind: "http"; signingSecret: string } | { kind: "socket"; appToken: string };
  };
  host: string;
  port: number;
  /** The first is the default. */
  projects: [Project, ...Project[]];
  /** Origins of code hosts whose links are trusted although they are plain http. */
  httpOrigins: string[];
  storeUrl: string;
  polling: { minMs: number; maxMs: number; deadlineMs: number };
  jobServiceTimeoutMs: number;
  /** The way to Slack and to the job services. */
  proxy: ProxySettings;
  retentionDays: number;
  logLevel: (typeof LOG_LEVELS)[number];
};

/** The environment does not make a configuration. The message lists every fault and names no secret. */
export class ConfigError extends DocsAgentError {
  readonly code = "config";

  constructor(faults: string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    super(
      `Docs Agent cannot start: ${faults.length === 1 ? "one setting is" : `${faults.length} settings are`} missing or wrong.\n${list}\nSee .env.example for every setting. Settings come from the environment, or from a file .env beside package.json.`,
    );
  }
}

const NO_SPACE = /^[\x21-\x7e]+$/;
const PROJECT_NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/i;

/** Slack's limit for the options of a select, which the form offers the projects in. */
const PROJECTS_MAX = 100;

const HttpUrl = z.url({ protocol: /^https?$/ });
const WITHOUT_V2 = "leave out the /v2 at its end, which is added to it";
const BaseUrl = HttpUrl.refine((url) => !URL.canParse(url) || !/\/v2\/*$/i.test(new URL(url).pathname), {
  error: WITHOUT_V2,
});
/** As other programs read it: a bare `host:port` is an http proxy. */
const ProxyUrl = z
  .string()
  .transform((address) => (address.includes("://") ? address : `http://${address}`))
  .pipe(HttpUrl)
  .refine((address) => !URL.canParse(address) || isDecodable(new URL(address)));
const YesOrNo = z.enum(["true", "false"]).transform((value) => value === "true");
const HttpOrigins = z
  .string()
  .transform((list) => list.split(",").map((origin) => origin.trim()))
  .refine((origins) => origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin));
const ProjectEntry = z.strictObject({
  name: z.string().regex(PROJECT_NAME),
  id: z.string().min(1),
  apiKey: z.string().regex(NO_SPACE).optional(),
  baseUrl: BaseUrl.optional(),
  idempotencyKeys: z.boolean().optional(),
});

/** All secrets of a configuration, to be kept out of whatever leaves the process. */
export function secretsOf(config: Config): string[] {
  const { botToken, receive } = config.slack;
  const received = receive.kind === "http" ? receive.signingSecret : receive.appToken;
  const apiKeys = config.projects.map((project) => project.apiKey);
  return [botToken, received, ...apiKeys, ...proxySecretsOf(config.proxy)];
}

/** Reads the configuration. Throws a {@link ConfigError} that lists every fault at once. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = [];

  /** Empty counts as absent: `NAME=` in a file of settings means that nobody has filled it in. */
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
      z.string().regex(/^(?:sqlite:\/\/.+|memory:\/\/)$/),
      "put sqlite://path, for example sqlite://./data/docs-agent.sqlite (this version keeps its state on one machine; memory:// loses it when the process ends)",
      "sqlite://./data/docs-agent.sqlite",
    ),
    polling: { minMs, maxMs, deadlineMs: milliseconds("JOB_DEADLINE_MS", 86_400_000) },
    jobServiceTimeoutMs: milliseconds("JOB_SERVICE_TIMEOUT_MS", 15_000),
    proxy: {
      http: proxySetting("HTTP_PROXY", ProxyUrl, wantProxy),
      https: proxySetting("HTTPS_PROXY", ProxyUrl, wantProxy),
      none: proxySetting("NO_PROXY", z.string(), ""),
    },
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

function readProjects(env: {
  given: (name: string) => string | undefined;
  need: (name: string, schema: z.ZodType<string>, want: string) => string;
  faults: string[];
  /** Of the service at DOCS_AGENT_BASE_URL. */
  idempotencyKeys: boolean;
}): Config["projects"] {
  const { given, need, faults, idempotencyKeys } = env;
  const needBaseUrl = () =>
    need("DOCS_AGENT_BASE_URL", BaseUrl, "put the http(s) URL of the job service, without /v2 at its end");
  const needApiKey = () =>
    need(
      "DOCS_AGENT_API_KEY",
      z.string().regex(NO_SPACE),
      "put the project's admin API key from the job service",
    );

  const listed = given("DOCS_AGENT_PROJECTS");
  if (listed === undefined) {
    return [
      {
        name: "default",
        id: need("DOCS_AGENT_PROJECT_ID", z.string(), "put the project's id at the job service"),
        baseUrl: needBaseUrl(),
        apiKey: needApiKey(),
        idempotencyKeys,
      },
    ];
  }
  const want = `DOCS_AGENT_PROJECTS is not valid: put a JSON array of 1 to ${PROJECTS_MAX} projects such as [{"name":"docs","id":"…"}] with name, id and, where they differ, apiKey, baseUrl and idempotencyKeys`;
  const parsed = z.array(ProjectEntry).min(1).max(PROJECTS_MAX).safeParse(jsonOf(listed));
  const entries = parsed.success ? parsed.data : [];
  if (!parsed.success) {
    // Only where, never what: an entry holds a key. The one message let through is our own.
    const places = parsed.error.issues
      .filter((issue) => issue.path.length > 0)
      .map((issue) => issue.path.join(".") + (issue.message === WITHOUT_V2 ? `: ${WITHOUT_V2}` : ""));
    const wrong = [...new Set(places)].join(", ");
    faults.push(`${want}${wrong === "" ? "" : ` (wrong at ${wrong})`}.`);
  }
  const names = entries.map((entry) => entry.name.toLowerCase());
  if (new Set(names).size < names.length) faults.push(`${want}; every name only once.`);
  // Needed by the projects that bring none of their own; checked in any case.
  const lacks = (name: "baseUrl" | "apiKey") => entries.some((entry) => entry[name] === undefined);
  const baseUrl = lacks("baseUrl") || given("DOCS_AGENT_BASE_URL") !== undefined ? needBaseUrl() : "";
  const apiKey = lacks("apiKey") || given("DOCS_AGENT_API_KEY") !== undefined ? needApiKey() : "";
  const [first, ...rest] = entries.map((entry) => ({
    name: entry.name,
    id: entry.id,
    baseUrl: entry.baseUrl ?? baseUrl,
    apiKey: entry.apiKey ?? apiKey,
    // The general setting is about the general service: assumed of another one, it could run a job twice.
    idempotencyKeys: entry.idempotencyKeys ?? (entry.baseUrl === undefined && idempotencyKeys),
  }));
  return [first ?? { name: "", id: "", baseUrl: "", apiKey: "", idempotencyKeys: false }, ...rest];
}

/** Whether user name and password are percent-encoded right. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
