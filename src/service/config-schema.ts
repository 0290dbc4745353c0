import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { z } from "zod";
import { AGENT_PRESET_NAMES, AGENT_PRESETS, isAgentPreset } from "./agent-presets.ts";
import { isBaseBranch, JOB_BRANCH_PREFIX } from "./branch.ts";
import { parseHostRule } from "./network/host-rules.ts";
import { MODEL_KINDS } from "./network/model-kinds.ts";
import { isSafeHttpUrl, repositoryKind } from "./repository.ts";

/** The files that count as documentation unless a project says otherwise. */
const DEFAULT_DOCS_GLOBS = [
  "**/*.md",
  "**/*.mdx",
  "**/*.rst",
  "**/*.adoc",
  "**/*.asciidoc",
  "docs/**",
] as const;

const ID = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/i;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const OWNER_OR_REPO = /^[A-Za-z0-9_.-]{1,100}$/;

/** Messages are rules: they follow "must be" or "Set it to". */
function whole(unit: string, min: number, max: number): z.ZodNumber {
  const error = `a whole number of ${unit}, ${min} to ${max}`;
  return z.int(error).min(min, error).max(max, error);
}

function text(want: string, max = 500): z.ZodString {
  return z.string(want).min(1, want).max(max, want);
}

function list<T extends z.ZodType>(item: T, want: string, max = 200) {
  return z.array(item, want).max(max, want);
}

/** Absent reads as `{}`, so that the defaults inside apply. */
function section<T extends z.ZodType>(schema: T) {
  return z.preprocess((given) => given ?? {}, schema);
}

const EnvName = text("the name of an environment variable, never its value", 128).regex(
  ENV_NAME,
  "the name of an environment variable, never its value",
);

const WANT_HTTP_URL = "an https URL (http only to this machine) without a user name or a password";
const HttpUrl = text(WANT_HTTP_URL, 2000).refine(isSafeHttpUrl, WANT_HTTP_URL);

const WANT_REPOSITORY =
  "an https URL (http only to this machine), an ssh URL, user@host:path or a local path, without credentials (gitCredentialsEnv names those)";

/** `local` is a path, relative to the settings file until it is resolved. */
const Repository = text(WANT_REPOSITORY, 2000).refine(
  (value) => repositoryKind(value) !== null,
  WANT_REPOSITORY,
);

const WANT_READABLE =
  "the absolute path of a file or folder that the agent may read, such as a program outside /usr";
const WANT_COMMAND = 'a list of texts, the program first, such as ["opencode", "acp"]';
const AgentSettings = {
  command: list(text(WANT_COMMAND, 4000), WANT_COMMAND).min(1, WANT_COMMAND),
  timeLimitMinutes: whole("minutes", 1, 24 * 60).default(30),
  maxOutputBytes: whole("bytes", 1024, 1024 ** 3).default(16 * 1024 ** 2),
  readable: list(
    text(WANT_READABLE, 4000).refine(isAbsolute, WANT_READABLE),
    "a list of absolute paths",
  ).default([]),
  limits: section(
    z.strictObject({
      memoryMegabytes: whole("megabytes", 1024, 1_048_576).default(4096),
      processes: whole("processes", 1, 32_768).default(512),
      diskMegabytes: whole("megabytes", 16, 1_048_576).default(2048),
    }),
  ),
};
const AskingSettings = {
  // With `ask`, a person decides what the policy does not allow, and the agent may put questions of its own.
  permissions: z.enum(["policy", "ask"], "policy or ask").default("policy"),
  answerTimeLimitMinutes: whole("minutes", 1, 24 * 60).default(60),
};
const WANT_PRESET = `one of ${AGENT_PRESET_NAMES.join(", ")}`;
const WANT_AGENT =
  '{ preset: opencode } (or gemini, claude, codex, copilot), or { kind: acp, command: ["…"] } for any agent that speaks the Agent Client Protocol over stdio, or { kind: command, command: ["…"] } for any program';
const WANT_MODEL = "the model's name at its provider, and only with a preset";
const Agent = z.preprocess(
  withPreset,
  z.discriminatedUnion(
    "kind",
    [
      z
        .strictObject({
          kind: z.literal("acp"),
          preset: z.enum(AGENT_PRESET_NAMES, WANT_PRESET).optional(),
          model: text(WANT_MODEL, 200).optional(),
          ...AgentSettings,
          terminal: z.boolean("true or false").default(false),
          ...AskingSettings,
        })
        .refine(({ preset, model }) => preset !== undefined || model === undefined, {
          path: ["model"],
          error: WANT_MODEL,
        }),
      z.strictObject({
        kind: z.literal("command"),
        ...AgentSettings,
        terminal: z.literal(false, "left out: only agents of kind: acp have a terminal").default(false),
      }),
    ],
    WANT_AGENT,
  ),
);

/** A preset brings the kind and the command, unless the settings give a command of their own. */
function withPreset(given: unknown): unknown {
  if (typeof given !== "object" || given === null || !("preset" in given)) return given;
  const { preset } = given;
  const command = typeof preset === "string" && isAgentPreset(preset) ? AGENT_PRESETS[preset].command : ["?"];
  return { kind: "acp", command: [...command], ...given };
}

const WANT_OWNER = "the name as it stands in the repository's address";
const CodeHost = z.discriminatedUnion(
  "kind",
  [
    z.strictObject({
      kind: z.literal("github"),
      apiUrl: HttpUrl.default("https://api.github.com"),
      owner: text(WANT_OWNER).regex(OWNER_OR_REPO, WANT_OWNER),
      repo: text(WANT_OWNER).regex(OWNER_OR_REPO, WANT_OWNER),
      tokenEnv: EnvName,
    }),
    z.strictObject({ kind: z.literal("none") }),
  ],
  "{ kind: github, owner: …, repo: …, tokenEnv: … } or { kind: none }",
);

const WANT_BRANCH = `the name of a branch that git takes, neither ${JOB_BRANCH_PREFIX.slice(0, -1)} nor one that begins with ${JOB_BRANCH_PREFIX}`;
const WANT_ID = "1 to 64 letters, digits, '.', '_' or '-', with a letter or digit at both ends";
const WANT_GLOB = "a glob inside the repository, such as docs/**";
const WANT_GLOBS = "a list of globs inside the repository, such as docs/**";
const Glob = text(WANT_GLOB, 300).refine(
  (glob) => !glob.startsWith("/") && !glob.split("/").includes("..") && !glob.startsWith("!"),
  WANT_GLOB,
);

const WANT_MODEL_NAME = "1 to 32 lower-case letters, digits or '-', a letter first";
const ModelName = text(WANT_MODEL_NAME, 32).regex(/^[a-z][a-z0-9-]*$/, WANT_MODEL_NAME);

function dollars(want: string) {
  const error = `${want}, in US dollars, 0 to 100000`;
  return z.number(error).min(0, error).max(100_000, error);
}

const WANT_PRICES = 'a price per model or pattern, such as "gpt-5*": { input: 1.25, output: 10 }';
const Price = z.strictObject(
  {
    input: dollars("the price of a million tokens of input"),
    output: dollars("the price of a million tokens of output"),
    cachedInput: dollars("the price of a million tokens of cached input").optional(),
  },
  WANT_PRICES,
);
const Model = z.strictObject({
  name: ModelName,
  kind: z.enum(MODEL_KINDS, `one of ${MODEL_KINDS.join(", ")}: the API that the upstream has`),
  baseUrl: HttpUrl.optional(),
  keyEnv: EnvName,
  prices: z.record(z.string().min(1).max(200), Price, WANT_PRICES).default({}),
});

const WANT_HOST_RULE =
  "a host: registry.npmjs.org, *.example.org for all names below it, or either with :port; an address or host:port for one that isn't on the internet";
const HostRules = list(
  text(WANT_HOST_RULE, 300).refine((rule) => parseHostRule(rule) !== null, WANT_HOST_RULE),
  "a list of hosts, such as registry.npmjs.org",
);

const Project = z.strictObject({
  id: text(WANT_ID).regex(ID, WANT_ID),
  name: text("a short name for people", 100).optional(),
  repository: Repository,
  baseBranch: text(WANT_BRANCH, 200).refine(isBaseBranch, WANT_BRANCH).default("main"),
  docs: list(Glob, WANT_GLOBS)
    .min(1, WANT_GLOBS)
    .default([...DEFAULT_DOCS_GLOBS]),
  agent: Agent,
  codeHost: CodeHost,
  gitCredentialsEnv: EnvName.optional(),
  agentEnv: list(EnvName, "a list of names of environment variables").default([]),
  models: list(ModelName, "a list of names that stand under models").optional(),
  budget: section(
    z.strictObject({
      tokens: whole("tokens", 1, 1_000_000_000).optional(),
      usd: dollars("the most that a turn may cost").gt(0, "more than 0, or left out").optional(),
    }),
  ),
  network: section(
    z.strictObject({
      allow: HostRules.default([]),
      maxBytes: whole("bytes", 1024, 1024 ** 4).default(1024 ** 3),
    }),
  ),
  limits: section(
    z.strictObject({
      createsPerHour: whole("jobs", 1, 100_000).default(100),
      messagesPerHour: whole("messages", 1, 100_000).default(100),
      jobsAtOnce: whole("jobs", 1, 100).default(2),
      queued: whole("turns", 1, 10_000).default(100),
    }),
  ),
  archiveAfterDays: whole("days", 1, 3650).default(90),
  keepArchivedDays: whole("days", 1, 3650).default(90),
  deleteMergedBranches: z.boolean("true or false").default(true),
  model: text("the model that the job's record shows", 200).optional(),
});

const WANT_HOST = "an address to listen on, such as 127.0.0.1";
const WANT_PORT = "a port number, 0 to 65535";

/** The settings file as it is written. Defaults are filled in; paths and names that follow from others are not. */
export const ServiceSettings = z.strictObject({
  listen: section(
    z.strictObject({
      host: text(WANT_HOST, 255)
        .refine((host) => isIP(host) !== 0 || /^[A-Za-z0-9.-]+$/.test(host), WANT_HOST)
        .default("127.0.0.1"),
      port: z.int(WANT_PORT).min(0, WANT_PORT).max(65_535, WANT_PORT).default(4000),
    }),
  ),
  dataDir: text("the folder for the service's state and checkouts, such as ./data/service", 4000),
  publicBaseUrl: HttpUrl.optional(),
  keyPrefix: text("1 to 20 lower-case letters or digits, a letter first", 20)
    .regex(/^[a-z][a-z0-9]*$/, "1 to 20 lower-case letters or digits, a letter first")
    .default("docsagent"),
  containment: z
    .enum(["required", "none"], "required, or none if agents may see all that the service sees")
    .default("required"),
  logLevel: z.enum(["debug", "info", "warn", "error"], "debug, info, warn or error").default("info"),
  jobsAtOnce: whole("jobs", 1, 1000).default(4),
  stopGraceMinutes: z
    .number("a number of minutes, 0 to 1440")
    .min(0, "a number of minutes, 0 to 1440")
    .max(1440, "a number of minutes, 0 to 1440")
    .default(1),
  models: list(Model, "a list of models, each with name, kind and keyEnv", 100).default([]),
  projects: list(Project, "a list of projects, each with id, repository and agent", 1000).min(
    1,
    "a list of at least one project",
  ),
});
export type ServiceSettings = z.infer<typeof ServiceSettings>;
