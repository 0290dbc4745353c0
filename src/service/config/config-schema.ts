import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { z } from "zod";
import { AGENT_PRESET_NAMES, AGENT_PRESETS, isAgentPreset } from "./agent-presets.ts";
import { CHECK_PRESETS } from "./check-presets.ts";
import { DEFAULT_BRANCH_PREFIX, isGitBranch, isBranchPrefix } from "./branches.ts";
import { PAGE_ENDINGS } from "../base/page-endings.ts";
import { isSafeHttpUrl, repositoryKind, repositoryOfPage } from "./repository.ts";
import { parseHostRule } from "../network/egress/find-route.ts";
import { MODEL_KINDS } from "../network/gateway/model-kinds.ts";

/** The files that count as documentation, unless a project's settings say otherwise. */
const DEFAULT_DOCS_GLOBS = [
  `**/*.{${PAGE_ENDINGS.join(",")}}`,
  "docs/**",
  "**/{doc,docs}/**/*.txt",
  // Navigation that is data. Where it is code, or can name some, `config check` says so.
  "**/{docs,mint,_meta,_category_}.json",
  "**/{_toc,toc,TOC,_category_}.yml",
  "**/{.pages,.nav.yml}",
  "**/_data/*{nav,sidebar,toc}*.{yml,yaml,json}",
  "**/{images,img,static,_static,public,screenshots}/**/*.{png,jpg,jpeg,gif,webp,avif,svg}",
];

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Messages of this schema are rules: they follow "must be", or "Set it to". */
function whole(want: string, min: number, max: number): z.ZodNumber {
  const error = `a whole number from ${min} to ${max} (${want})`;
  return z.int(error).min(min, error).max(max, error);
}

function number(want: string, max: number): z.ZodNumber {
  return z.number(want).min(0, want).max(max, want);
}

/** A text that isn't empty or too long, and that `fits`. */
function text(want: string, max = 500, fits: RegExp | ((value: string) => boolean) = /^/) {
  const isFitting = fits instanceof RegExp ? (value: string) => fits.test(value) : fits;
  return z.string(want).min(1, want).max(max, want).refine(isFitting, want);
}

function list<T extends z.ZodType>(item: T, want: string, max = 200) {
  return z.array(item, want).max(max, want);
}

/** An absent section is read as `{}`, so that the defaults inside it apply. */
function section<T extends z.ZodRawShape>(settings: T, want?: string) {
  return z.preprocess((given) => given ?? {}, z.strictObject(settings, want));
}

const EnvName = text("the name of an environment variable, never its value", 128, ENV_NAME);
const WANT_HTTP_URL = "an https URL (http only to this machine) without a user name or a password";
const HttpUrl = text(WANT_HTTP_URL, 2000, isSafeHttpUrl);
const WANT_REPOSITORY =
  "an https URL (http only to this machine), an ssh URL, user@host:path, or a local path; " +
  "credentials come from gitCredentialsEnv";
/** A `local` repository is a path, relative to the settings file until it is resolved. */
const Repository = z
  .string(WANT_REPOSITORY)
  .refine((value) => value !== "" && value.length <= 2000 && repositoryKind(value) !== null, WANT_REPOSITORY)
  .refine((value) => repositoryOfPage(value) === null, {
    error: ({ input }) =>
      `the repository's own address, ${repositoryOfPage(String(input))}, not a page in it`,
  });

const MAX_INSTRUCTIONS = 8000;
/** A path inside a repository, as git writes it. */
function repositoryPath(want: string) {
  const isOutside = (part: string) => part === ".." || part === ".git";
  return text(want, 300, (path) => !path.startsWith("/") && !path.split("/").some(isOutside));
}

const Readable = list(
  text("the absolute path of a file or folder on this machine, for example /opt/vale", 4000, isAbsolute),
  "a list of absolute paths of files and folders on this machine, for example [/opt/vale]",
).default([]);
function command(example: string) {
  const want = `a list of texts, the program first, for example ${example}`;
  return list(text(want, 4000), want).min(1, want);
}
const AgentSettings = {
  command: command('["opencode", "acp"]'),
  timeLimitMinutes: whole("how long a turn may take, in minutes", 1, 24 * 60).default(30),
  maxOutputBytes: whole("how much the agent may write, in bytes", 1024, 1024 ** 3).default(16 * 1024 ** 2),
  readable: Readable,
  instructions: text(
    `what the project's agent should know, at most ${MAX_INSTRUCTIONS} characters`,
    MAX_INSTRUCTIONS,
  ).optional(),
  styleGuide: list(
    repositoryPath("the path of a file in the repository, for example docs/STYLE.md"),
    "a list of paths of files in the repository, for example [docs/STYLE.md]",
    10,
  ).default([]),
  limits: section({
    memoryMegabytes: whole("how much memory the agent may use, in megabytes", 1024, 1_048_576).default(4096),
    processes: whole("how many processes the agent may have", 1, 32_768).default(512),
    diskMegabytes: whole("how much the agent may write to its folders, in megabytes", 16, 1_048_576).default(
      2048,
    ),
  }),
};
const WANT_MODEL = "the model's name at its provider, beside a preset";
const Agent = z.preprocess(
  withPreset,
  z.discriminatedUnion(
    "kind",
    [
      z
        .strictObject({
          kind: z.literal("acp"),
          preset: z.enum(AGENT_PRESET_NAMES, `one of ${AGENT_PRESET_NAMES.join(", ")}`).optional(),
          model: text(WANT_MODEL, 200).optional(),
          ...AgentSettings,
          terminal: z.boolean("true or false").default(false),
          // With `ask`, a person decides what the policy doesn't allow, and the agent may ask
          // questions.
          permissions: z.enum(["policy", "ask"], "policy or ask").default("policy"),
          startSeconds: whole(
            "how long the agent may take to answer when it starts, in seconds",
            1,
            3600,
          ).default(60),
          answerTimeLimitMinutes: whole(
            "how long an agent waits for a person's answer, in minutes",
            1,
            24 * 60,
          ).default(60),
        })
        .refine(({ preset, model }) => preset !== undefined || model === undefined, {
          path: ["model"],
          error: WANT_MODEL,
        }),
      z.strictObject({
        kind: z.literal("command"),
        ...AgentSettings,
        terminal: z.literal(false, "left out: it is a capability of kind: acp").default(false),
      }),
    ],
    'acp (Agent Client Protocol over stdio) or command (any program), with command: ["…"]; ' +
      "or use preset: opencode (or gemini, claude, codex, copilot)",
  ),
);

/** A preset provides the kind and the command, unless the settings have a command of their own. */
function withPreset(given: unknown): unknown {
  if (typeof given !== "object" || given === null || !("preset" in given)) return given;
  const { preset } = given;
  const command = typeof preset === "string" && isAgentPreset(preset) ? AGENT_PRESETS[preset].command : ["?"];
  return { kind: "acp", command: [...command], ...given };
}

const OwnerOrRepo = text("the name as it stands in the repository's address", 500, /^[A-Za-z0-9_.-]{1,100}$/);
const EITHER = ["tokenEnv", "app"];
const CodeHost = z.discriminatedUnion(
  "kind",
  [
    z
      .strictObject({
        kind: z.literal("github"),
        apiUrl: HttpUrl.default("https://api.github.com"),
        owner: OwnerOrRepo,
        repo: OwnerOrRepo,
        tokenEnv: EnvName.optional(),
        app: z
          .strictObject(
            {
              id: whole("the App's id", 1, Number.MAX_SAFE_INTEGER),
              keyFile: text("the path of the App's private key, a .pem file", 4000),
              installationId: whole("the id of the App's installation", 1, Number.MAX_SAFE_INTEGER),
            },
            "a section with id, keyFile and installationId",
          )
          .optional(),
        pollSeconds: whole("how often pull requests are looked at, in seconds", 5, 3600).default(60),
        webhookSecretEnv: EnvName.optional(),
      })
      .refine(({ tokenEnv, app }) => (tokenEnv === undefined) !== (app === undefined), {
        path: ["tokenEnv"],
        error: ({ input }) =>
          Object(input).app === undefined
            ? "the name of an environment variable, never its value, or use app instead"
            : "left out beside app, which has tokens of its own",
        // Reports this together with all other faults, but adds none to those of the two.
        when: ({ issues }) => !issues.some(({ path }) => EITHER.includes(String(path?.[0]))),
      }),
    z.strictObject({ kind: z.literal("none") }),
  ],
  "github (with owner, repo, and app or tokenEnv), or none for GitLab and other hosts: the service " +
    "then pushes a branch, and you open the merge request",
);

const Branch = text("the name of a branch that git takes", 200, isGitBranch).default("main");
const isGlob = (text: string) => !/^[/!]/.test(text) && !text.split("/").includes("..");
const WANT_GLOBS = 'a list of globs inside the repository, for example ["docs/**"]';
const Globs = list(text("a glob inside the repository, for example docs/**", 300, isGlob), WANT_GLOBS);

const WANT_MODEL_NAME = "lower-case letters, digits or '-', a letter first, at most 32";
const ModelName = text(WANT_MODEL_NAME, 32, /^[a-z][a-z0-9-]*$/);

function dollars(want: string) {
  return number(`${want}, in US dollars, from 0 to 100000`, 100_000);
}

const WANT_PRICES = 'a price per model or pattern, for example "gpt-5*": { input: 1.25, output: 10 }';
const Price = z.strictObject(
  {
    input: dollars("the price of a million tokens of input"),
    output: dollars("the price of a million tokens of output"),
    cachedInput: dollars("the price of a million tokens of cached input").optional(),
  },
  WANT_PRICES,
);
const WANT_EXTRAS = "lists of names under fields, tools and betas, as the log shows them";
const ExtraNames = list(text(WANT_EXTRAS, 100, /^[\w.:/@=[\]-]+$/), WANT_EXTRAS).default([]);
const Model = z.strictObject({
  name: ModelName,
  kind: z.enum(MODEL_KINDS, `the upstream's API: one of ${MODEL_KINDS.join(", ")}`),
  baseUrl: HttpUrl.optional(),
  keyEnv: EnvName,
  prices: z.record(z.string().min(1).max(200), Price, WANT_PRICES).default({}),
  allow: section({ fields: ExtraNames, tools: ExtraNames, betas: ExtraNames }, WANT_EXTRAS),
});

const WANT_HOST =
  "a host: packages.example.com, *.docs.example.com for all names below it, or either with :port; " +
  "an address or host:port for one that isn't on the internet";
const HostRules = list(
  z.string(WANT_HOST).refine((rule) => rule.length <= 300 && parseHostRule(rule) !== null, {
    error: ({ input }) => {
      const url = URL.parse(String(input));
      const isPage = url !== null && /^https?:$/.test(url.protocol) && url.username === "";
      return isPage ? `the host alone: ${url.host}, without ${url.protocol}// and a path` : WANT_HOST;
    },
  }),
  "a list of hosts, for example [packages.example.com]",
);

const Context = z.strictObject({
  name: text(`${WANT_MODEL_NAME}, and not docs`, 32, /^(?!docs$)[a-z][a-z0-9-]*$/),
  repository: Repository,
  // A branch or a tag.
  ref: Branch,
  paths: Globs.default([]),
  gitCredentialsEnv: EnvName.optional(),
  // Whether a person is asked before words of it get into public docs, if it isn't public itself.
  publish: z.enum(["ask", "allow"], "ask or allow").default("ask"),
});

const WANT_CHECK = `one of ${[...CHECK_PRESETS.keys()].join(", ")}, or a section with name and command`;
const CheckSection = z.strictObject(
  {
    name: text("1 to 40 letters, digits, spaces, '.', '_' or '-'", 40, /^[A-Za-z0-9][\w .-]*$/),
    command: command('["node", "check.mjs"]'),
    cwd: repositoryPath("a folder in the repository, for example website").default("."),
    env: z.record(z.string().regex(ENV_NAME), z.string().max(4000), "variables and their values").default({}),
    timeoutSeconds: whole("how long the check may take, in seconds", 1, 3600).default(300),
    blocking: z.boolean("true or false").default(true),
    // The exit codes by which the command says that it ran and found something.
    findingsAt: list(
      whole("an exit code of the command", 1, 125),
      "a list of exit codes, for example [1]",
      20,
    )
      .min(1, "a list of exit codes, for example [1]")
      .optional(),
    readable: Readable,
    mounts: list(
      z.strictObject({
        from: text("the absolute path of a folder on this machine", 4000, isAbsolute),
        at: repositoryPath("a folder in the repository, for example website/node_modules"),
      }),
      "a list of folders, each with from and at",
      20,
    ).default([]),
  },
  WANT_CHECK,
);
/** A preset's name stands for a check of that name. */
const Check = z.preprocess((given) => {
  const preset = typeof given === "string" ? CHECK_PRESETS.get(given) : undefined;
  return preset === undefined ? given : { name: given, ...preset.settings };
}, CheckSection);

const WANT_TITLE = "a text with {title} in it, for example docs: {title}";
const isTitle = (template: string) => template.includes("{title}") && !/\p{Cc}/u.test(template);
const WANT_REVIEWER = "a user name at the code host, or a team as owner/team, without @";
const WANT_BRANCH_PREFIX =
  "the beginning of a branch name that git allows, without spaces, for example docs-agent/";
const PullRequests = section({
  draft: z.boolean("true or false").default(false),
  labels: list(text("a label of 1 to 50 characters", 50), "a list of at most 20 labels", 20).default([]),
  reviewers: list(
    text(WANT_REVIEWER, 140, /^[A-Za-z0-9][\w.-]*(?:\/[\w.-]+)?$/),
    "a list of user names at the code host, or teams as owner/team",
    15,
  ).default([]),
  assignees: list(
    text("a user name at the code host, without @", 100, /^[A-Za-z0-9][\w.-]*$/),
    "a list of user names at the code host",
    15,
  ).default([]),
  // Where branches are pushed, if not to the repository itself.
  fork: text("a fork of the repository, as owner/repo", 201, /^[\w.-]{1,100}\/[\w.-]{1,100}$/).optional(),
  branchPrefix: text(WANT_BRANCH_PREFIX, 90, isBranchPrefix).default(DEFAULT_BRANCH_PREFIX),
  titleTemplate: text(WANT_TITLE, 100, isTitle).default("{title}"),
  // Whether a pull request names the requester and links to the thread. `auto` means in private
  // repositories only.
  requester: z.enum(["auto", "always", "never"], "auto, always or never").default("auto"),
});

const WANT_NAME = "a name that begins and ends with a letter, a digit or a bracket, without < and >";
/** Git leaves out other characters at both ends of a name, and then a sign-off would differ. */
const PERSON_NAME = /^[\p{L}\p{N}([](?:[^<>\p{Cc}]*[\p{L}\p{M}\p{N})\]])?$/u;
const Commits = section({
  name: text(WANT_NAME, 100, PERSON_NAME).optional(),
  email: text("an e-mail address", 254, /^[^\s<>@\p{Cc}]+@[^\s<>@\p{Cc}]+$/u).optional(),
  signOff: z.boolean("true or false").default(false),
  signingKeyFile: text("the path of a private SSH key", 4000).optional(),
  // Who makes the commits: the service with git, or the code host.
  by: z.enum(["git", "api"], "git or api").default("git"),
});

const Project = z.strictObject({
  id: text("1 to 64 letters, digits, '.', '_' or '-'", 500, /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/i),
  name: text("a short name for people", 100).optional(),
  repository: Repository,
  baseBranch: Branch,
  docs: Globs.min(1, WANT_GLOBS).default(DEFAULT_DOCS_GLOBS),
  portableNames: z.boolean("true or false").default(true),
  agent: Agent,
  context: list(Context, "a list of repositories, each with name and repository", 10).default([]),
  verify: list(Check, "a list of checks, for example [links, markdownlint]", 10).default([]),
  codeHost: CodeHost,
  pullRequests: PullRequests,
  commits: Commits,
  gitCredentialsEnv: EnvName.optional(),
  agentEnv: list(EnvName, "a list of names of environment variables").default([]),
  models: list(ModelName, "a list of names of models, as they stand under models").optional(),
  budget: section({
    tokens: whole("how many tokens a turn may use", 1, 1_000_000_000).optional(),
    usd: dollars("what a turn may cost").gt(0, "more than 0, or left out").optional(),
  }),
  network: section({
    allow: HostRules.default([]),
    maxBytes: whole("how many bytes a turn may send and receive", 1024, 1024 ** 4).default(1024 ** 3),
  }),
  limits: section({
    createsPerHour: whole("how many jobs may be created in an hour", 1, 100_000).default(100),
    messagesPerHour: whole("how many messages may be sent in an hour", 1, 100_000).default(100),
    jobsAtOnce: whole("how many jobs may run at once", 1, 100).default(2),
    queued: whole("how many turns may wait for their turn to run", 1, 10_000).default(100),
  }),
  archiveAfterDays: whole("after how many days without activity a job is archived", 1, 3650).default(90),
  keepArchivedDays: whole("after how many days an archived job is forgotten", 1, 3650).default(90),
  deleteMergedBranches: z.boolean("true or false").default(true),
  model: text("what the job's record shows as its model", 200).optional(),
});

const WANT_PREFIX = "1 to 20 lower-case letters or digits, a letter first";
const isHost = (host: string) => isIP(host) !== 0 || /^[A-Za-z0-9.-]+$/.test(host);

/**
 * The settings file as it is written, with defaults filled in. Paths and names that are derived
 * from others aren't.
 */
export const ServiceSettings = z.strictObject({
  listen: section({
    host: text("an address to listen on, for example 127.0.0.1", 255, isHost).default("127.0.0.1"),
    port: whole("a port", 0, 65_535).default(4000),
  }),
  dataDir: text("the folder for the service's state and checkouts, for example ../docs-agent-data", 4000),
  publicBaseUrl: HttpUrl.optional(),
  keyPrefix: text(WANT_PREFIX, 20, /^[a-z][a-z0-9]*$/).default("docsagent"),
  containment: z
    .enum(["required", "none"], "required, or none if agents may see all that the service sees")
    .default("required"),
  logLevel: z.enum(["debug", "info", "warn", "error"], "debug, info, warn or error").default("info"),
  jobsAtOnce: whole("how many jobs of all projects may run at once", 1, 1000).default(4),
  stopGraceMinutes: number("a number of minutes, 0 to 1440", 1440).default(1),
  models: list(Model, "a list of models, each with name, kind and keyEnv", 100).default([]),
  projects: list(Project, "a list of projects, each with id, repository and agent", 1000).min(
    1,
    "a list of at least one project",
  ),
});
export type ServiceSettings = z.infer<typeof ServiceSettings>;

/** The names of all settings, wherever in the file they belong. */
export function settingNames(): Set<string> {
  const names = new Set<string>();
  JSON.stringify(z.toJSONSchema(ServiceSettings, { unrepresentable: "any" }), (key, value: unknown) => {
    if (key === "properties") for (const name of Object.keys(Object(value))) names.add(name);
    return value;
  });
  return names;
}
