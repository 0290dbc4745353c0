import { parseMetricsAddress, WANT_METRICS_ADDRESS } from "../../shared/machine/serve-metrics.ts";
import { isIP } from "node:net";
import { z } from "zod";
import { AgentSetting } from "./agent-settings.ts";
import { MAX_CHECKS } from "../../shared/contract/checks.ts";
import { CheckSetting, runsCommand } from "./check-settings.ts";
import { ModelSetting } from "./model-settings.ts";
import { CodeHostSetting, CommitsSetting, PullRequestsSetting } from "./publishing-settings.ts";
import {
  BranchSetting,
  dollars,
  EnvName,
  Globs,
  UrlSetting,
  listSetting,
  machinePath,
  ModelName,
  number,
  RepositorySetting,
  RunnerLabels,
  sectionSetting,
  text,
  WANT_GLOBS,
  WANT_MODEL_NAME,
  wholeNumber,
} from "./setting-types.ts";
import { isLiveUrl } from "./page-address.ts";
import { PAGE_ENDINGS } from "../base/page-endings.ts";
import { parseHostRule } from "../network/egress/find-route.ts";

/** The files that count as documentation, unless a project's settings say otherwise. */
export const DEFAULT_DOCS_GLOBS = [
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

const WANT_HOST =
  "a host: packages.example.com, *.docs.example.com for all names below it, or either with :port; " +
  "an address or host:port for one that isn't on the internet";
const HostRules = listSetting(
  z.string(WANT_HOST).refine((rule) => rule.length <= 300 && parseHostRule(rule) !== null, {
    error: ({ input }) => {
      const url = URL.parse(String(input));
      const isPage = url !== null && /^https?:$/.test(url.protocol) && url.username === "";
      return isPage ? `the host alone: ${url.host}, without ${url.protocol}// and a path` : WANT_HOST;
    },
  }),
  "a list of hosts, for example [packages.example.com]",
);

const WANT_PREVIEW_HOST = "a host: docs-preview.example.com, or *.example.com for all names below it";
const WANT_LIVE_URL =
  "an https URL with {path} in place of a page's path, for example https://docs.acme.com/{path}, or " +
  "{docs/path} if the site is made of the folder docs";

const WANT_SOME = "more than 0, or left out";

/** A turn reports hygiene, too. */
const WANT_NINE = "a list of at most nine checks beside hygiene";

const Context = z.strictObject({
  name: text(`${WANT_MODEL_NAME}, and not docs or request`, 32, /^(?!(?:docs|request)$)[a-z][a-z0-9-]*$/),
  repository: RepositorySetting,
  // A branch or a tag.
  ref: BranchSetting,
  paths: Globs.default([]),
  gitCredentialsEnv: EnvName.optional(),
  // Whether a person is asked before words of it get into public docs, if it isn't public itself.
  publish: z.enum(["ask", "allow"], "ask or allow").default("ask"),
});

const Project = z.strictObject({
  id: text("1 to 64 letters, digits, '.', '_' or '-'", 500, /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/i),
  name: text("a short name for people", 100).optional(),
  repository: RepositorySetting,
  baseBranch: BranchSetting,
  docs: Globs.min(1, WANT_GLOBS).default(DEFAULT_DOCS_GLOBS),
  portableNames: z.boolean("true or false").default(true),
  agent: AgentSetting,
  context: listSetting(Context, "a list of repositories, each with name and repository", 10).default([]),
  verify: listSetting(CheckSetting, "a list of checks, for example [links, markdownlint]", MAX_CHECKS)
    .refine((checks) => checks.filter(runsCommand).length < MAX_CHECKS, WANT_NINE)
    .default([]),
  codeHost: CodeHostSetting,
  pullRequests: PullRequestsSetting,
  commits: CommitsSetting,
  gitCredentialsEnv: EnvName.optional(),
  agentEnv: listSetting(EnvName, "a list of names of environment variables").default([]),
  models: listSetting(ModelName, "a list of names of models, as they stand under models").optional(),
  budget: sectionSetting({
    tokens: wholeNumber("how many tokens a turn may use", 1, 1_000_000_000).optional(),
    usd: dollars("what a turn may cost").gt(0, WANT_SOME).optional(),
  }),
  network: sectionSetting({
    allow: HostRules.default([]),
    maxBytes: wholeNumber("how many bytes a turn may send and receive", 1024, 1024 ** 4).default(1024 ** 3),
  }),
  limits: sectionSetting({
    createsPerHour: wholeNumber("how many jobs may be created in an hour", 1, 100_000).default(100),
    messagesPerHour: wholeNumber("how many messages may be sent in an hour", 1, 100_000).default(100),
    jobsAtOnce: wholeNumber("how many jobs may run at once", 1, 100).default(2),
    queued: wholeNumber("how many turns may wait for their turn to run", 1, 10_000).default(100),
    usdPerDay: dollars("what the project's turns may cost in a day").gt(0, WANT_SOME).optional(),
    usdPerMonth: dollars("what the project's turns may cost in a month").gt(0, WANT_SOME).optional(),
  }),
  // A turn runs only on runners with all these labels.
  runners: sectionSetting({ labels: RunnerLabels }),
  archiveAfterDays: wholeNumber("after how many days without activity a job is archived", 1, 3650).default(
    90,
  ),
  keepArchivedDays: wholeNumber("after how many days an archived job is forgotten", 1, 3650).default(90),
  openPullRequests: wholeNumber("how many pull requests may wait for a review", 1, 1000).default(10),
  keepFresh: z.boolean("true or false").default(false),
  previewHosts: listSetting(
    text(WANT_PREVIEW_HOST, 300, (host) => parseHostRule(host) !== null),
    "a list of hosts, for example [docs-preview.example.com]",
  ).default([]),
  liveUrl: text(WANT_LIVE_URL, 1000, isLiveUrl).optional(),
  addressReviews: z.enum(["ask", "always"], "ask or always").default("ask"),
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
  listen: sectionSetting({
    host: text("an address to listen on, for example 127.0.0.1", 255, isHost).default("127.0.0.1"),
    port: wholeNumber("a port", 0, 65_535).default(4000),
  }),
  metrics: sectionSetting({
    address: text(WANT_METRICS_ADDRESS, 300, (at) => parseMetricsAddress(at) !== null).optional(),
  }),
  dataDir: machinePath("the folder for the service's state and checkouts, for example ../docs-agent-data"),
  publicBaseUrl: UrlSetting.optional(),
  keyPrefix: text(WANT_PREFIX, 20, /^[a-z][a-z0-9]*$/).default("docsagent"),
  containment: z
    .enum(["required", "none"], "required, or none if agents may see all that the service sees")
    .default("required"),
  logLevel: z.enum(["debug", "info", "warn", "error"], "debug, info, warn or error").default("info"),
  // How many turns the service's own runner runs at once. 0: it has none.
  jobsAtOnce: wholeNumber("how many jobs may run at once on this machine, 0 for none", 0, 1000).default(4),
  // Those of the service's own runner.
  labels: RunnerLabels,
  stopGraceMinutes: number("a number of minutes, 0 to 1440", 1440).default(1),
  models: listSetting(ModelSetting, "a list of models, each with name, kind and keyEnv", 100).default([]),
  projects: listSetting(Project, "a list of projects, each with id, repository and agent", 1000).min(
    1,
    "a list of at least one project",
  ),
});
export type ServiceSettings = z.infer<typeof ServiceSettings>;

/** The names of all settings, wherever in the file they belong. */
export function settingNames(): Set<string> {
  return new Set(settingPlaces().keys());
}

/** Where each name of a setting belongs, such as `projects[].agent.model`. */
export function settingPlaces(): Map<string, string[]> {
  const places = new Map<string, Set<string>>();
  const walk = (schema: z.core.JSONSchema.BaseSchema, place: string) => {
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const own = place === "" ? name : `${place}.${name}`;
      const known = places.get(name) ?? new Set();
      places.set(name, known.add(own));
      if (typeof inner === "object") walk(inner, own);
    }
    for (const each of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) walk(each, place);
    const { items } = schema;
    if (typeof items === "object" && !Array.isArray(items)) walk(items, `${place}[]`);
  };
  walk(z.toJSONSchema(ServiceSettings, { unrepresentable: "any", io: "input" }), "");
  return new Map([...places].map(([name, all]) => [name, [...all]]));
}
