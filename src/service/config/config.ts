import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { didYouMean } from "../../shared/text/did-you-mean.ts";
import { DocsAgentError, messageOf } from "../../shared/errors.ts";
import { readProxySettings } from "../../shared/machine/proxy.ts";
import { ServiceSettings, settingNames } from "./config-schema.ts";
import { type Env, gitVariables, type NamedVariable, type ServiceModel, variableFaults } from "./env.ts";
import { KIND_TRAITS } from "../network/gateway/model-kinds.ts";
import { pathFaults } from "./path-faults.ts";
import { isBaseBranch } from "./branches.ts";
import { at, looksSecret } from "./place.ts";
import { type Fork, forkAt, ownerAndRepo, repositoryKind } from "./repository.ts";

type ProjectSettings = ServiceSettings["projects"][number];

/** The settings, with all that follows from others filled in, and paths made absolute. */
export type ServiceConfig = ReturnType<typeof toConfig>;

/**
 * A project of the job service. It holds no secrets: names ending in `Env` are those of environment
 * variables. A local `repository` is an absolute path.
 */
export type ServiceProject = ServiceConfig["projects"][number];

/** Pull requests on GitHub or a host with a compatible API. `app.keyFile` is absolute. */
export type GitHubSettings = Extract<ServiceProject["codeHost"], { kind: "github" }>;

/**
 * The job service's settings file isn't valid. The message lists every fault and shows no values.
 */
export class ServiceConfigError extends DocsAgentError {
  readonly code = "service_config";

  constructor(path: string, faults: readonly string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    const what = faults.length === 1 ? "one setting" : `${faults.length} settings`;
    super(
      `The job service can't use ${path}. Fix ${what}:\n${list}\nservice.example.yml describes ` +
        "every setting.",
    );
  }
}

/**
 * Reads the job service's settings file, YAML. Throws a {@link ServiceConfigError} that lists every
 * fault with its path in the file. `env` is used to check that the variables that the file names
 * are set. If it is null, they aren't checked.
 */
export function loadServiceConfig(path: string, env: Env | null): ServiceConfig {
  const file = resolve(path);
  const raw = readYaml(file);
  const faults = tokenFaults(raw, []);
  const parsed = ServiceSettings.safeParse(raw ?? {});
  if (!parsed.success) {
    // A text in place of a list may also be too long, which would be reported twice.
    faults.push(...new Set(faultsOf(parsed.error.issues, raw)));
    throw new ServiceConfigError(file, faults);
  }
  // These messages show names of variables. A secret may have been put in their place.
  if (faults.length === 0) {
    faults.push(...crossFaults(parsed.data));
    if (env !== null) {
      faults.push(...variableFaults(variablesOf(parsed.data), env), ...readProxySettings(env).faults);
    }
  }
  const config = toConfig(parsed.data, dirname(file));
  faults.push(...pathFaults(config));
  if (faults.length > 0) throw new ServiceConfigError(file, faults);
  return config;
}

const TABS = "must be indented with spaces, not tabs.";

function readYaml(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    throw new ServiceConfigError(file, [
      `Can't read the file (${messageOf(thrown)}). Copy service.example.yml there, or name ` +
        "another with --config.",
    ]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines, uniqueKeys: true });
  // Shows only the place and the kind of a fault, because the parser's own messages quote the file.
  const faults = document.errors.map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    if (error.code === "TAB_AS_INDENT") return `Line ${line} ${TABS}`;
    return `Line ${line}, column ${col} isn't valid YAML (${error.code.toLowerCase().replaceAll("_", " ")}).`;
  });
  // A tab causes further errors, which aren't faults of their own.
  const tabs = faults.filter((fault) => fault.endsWith(TABS));
  if (faults.length > 0) throw new ServiceConfigError(file, [...new Set(tabs.length > 0 ? tabs : faults)]);
  try {
    const settings: unknown = document.toJS({ maxAliasCount: 50 });
    // Throws if an alias contains itself.
    JSON.stringify(settings);
    return settings;
  } catch {
    throw new ServiceConfigError(file, ["Can't resolve the file's aliases. Write the values out."]);
  }
}

function toConfig(settings: ServiceSettings, folder: string) {
  const { models, ...rest } = settings;
  const all: ServiceModel[] = models.map((model) => ({
    ...model,
    baseUrl: model.baseUrl ?? KIND_TRAITS[model.kind].defaultBaseUrl,
  }));
  return {
    ...rest,
    dataDir: resolve(folder, settings.dataDir),
    publicBaseUrl: settings.publicBaseUrl?.replace(/\/+$/, "") ?? null,
    projects: settings.projects.map((project) => ({
      ...project,
      name: project.name ?? project.id,
      /** Free text that the job's record shows. */
      model: project.model ?? modelOf(project.agent),
      repository: repositoryIn(folder, project.repository),
      codeHost: codeHostIn(folder, project.codeHost),
      commits: commitsIn(folder, project.commits),
      /** The repository that branches are pushed to, if it isn't the project's own. */
      fork: forkIn(folder, project),
      context: project.context.map((each) => ({
        ...each,
        repository: repositoryIn(folder, each.repository),
      })),
      /** Null: git authenticates with nothing, or with the code host's token. */
      gitCredentialsEnv: project.gitCredentialsEnv ?? null,
      /** The models that the project's agent may use. */
      models: all.filter(({ name }) => project.models?.includes(name) ?? true),
    })),
  };
}

/** Local paths are relative to the settings file. */
function repositoryIn(folder: string, repository: string): string {
  return repositoryKind(repository) === "local" ? resolve(folder, repository) : repository;
}

function codeHostIn(folder: string, codeHost: ProjectSettings["codeHost"]): ProjectSettings["codeHost"] {
  if (codeHost.kind === "none" || codeHost.app === undefined) return codeHost;
  return { ...codeHost, app: { ...codeHost.app, keyFile: resolve(folder, codeHost.app.keyFile) } };
}

function forkIn(folder: string, { repository, codeHost, pullRequests }: ProjectSettings): Fork | null {
  if (codeHost.kind === "none" || pullRequests.fork === undefined) return null;
  const { owner, repo } = codeHost;
  return forkAt(repositoryIn(folder, repository), `${owner}/${repo}`, pullRequests.fork);
}

function commitsIn(folder: string, { signingKeyFile, ...commits }: ProjectSettings["commits"]) {
  return {
    ...commits,
    signingKeyFile: signingKeyFile === undefined ? null : resolve(folder, signingKeyFile),
  };
}

/** The text that a job's record shows as its model if the settings don't say. */
function modelOf(agent: ProjectSettings["agent"]): string {
  const preset = agent.kind === "acp" ? (agent.model ?? agent.preset) : undefined;
  return preset ?? basename(agent.command[0] ?? "");
}

/**
 * Searches the whole file, even parts that no setting uses. Reports the place and never the value.
 */
function tokenFaults(value: unknown, path: PropertyKey[]): string[] {
  if (typeof value === "string") {
    if (!looksSecret(value)) return [];
    return [
      `${at(path)} looks like a secret. Get a new one, because this one was in a file. Set an ` +
        "environment variable to it, and name that variable here.",
    ];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    tokenFaults(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

function faultsOf(issues: readonly z.core.$ZodIssue[], raw: unknown): string[] {
  return issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => unknownFault([...issue.path, key]));
    }
    const isMissing = valueAt(raw, issue.path) === undefined;
    // If the schema has no message of its own, a section is expected here.
    const rule = issue.message.startsWith("Invalid ") ? "a section with settings" : issue.message;
    return [
      `${at(issue.path)} ${isMissing ? "is missing. Set it to" : "must be"} ${rule}.${meantBy(issue, raw)}`,
      ...(issue.code === "invalid_union" ? misspelled(raw, issue.path.slice(0, -1)) : []),
    ];
  });
}

/** The known value that a misspelled one stands for, as a question. */
function meantBy(issue: z.core.$ZodIssue, raw: unknown): string {
  const given = valueAt(raw, issue.path);
  if (issue.code !== "invalid_value" || typeof given !== "string") return "";
  const known = issue.values.filter((value) => typeof value === "string");
  const meant = didYouMean(given, known);
  return meant === null ? "" : ` Did you mean ${meant}?`;
}

/**
 * Without a kind, a section isn't checked any further, although a misspelled name may be the cause.
 */
function misspelled(raw: unknown, path: readonly PropertyKey[]): string[] {
  const known = settingNames();
  return Object.keys(Object(valueAt(raw, path)))
    .filter((key) => !known.has(key))
    .map((key) => unknownFault([...path, key]));
}

function unknownFault(path: readonly PropertyKey[]): string {
  const meant = didYouMean(String(path.at(-1)), settingNames());
  return `${at(path)} isn't a setting. ${meant === null ? "Remove it." : `Did you mean ${meant}?`}`;
}

/** Faults that concern several settings at once. Shows only names. */
function crossFaults({ models, projects }: ServiceSettings): string[] {
  const names = models.map(({ name }) => name);
  const ids = projects.map(({ id }) => id.toLowerCase());
  const twice = (all: string[], place: (index: number) => string) =>
    all.flatMap((one, index) => {
      const first = all.indexOf(one);
      return first === index ? [] : [`${place(index)}: ${place(first)} is "${one}", too. Choose another.`];
    });
  return [
    ...twice(ids, (index) => `projects[${index}].id`),
    ...twice(names, (index) => `models[${index}].name`),
    ...projects.flatMap((project, index) => {
      const place = `projects[${index}]`;
      const checks = project.verify.map(({ name }) => name.toLowerCase());
      const used = models.filter(({ name }) => project.models?.includes(name) ?? true);
      const unknown = (project.models ?? []).filter((name) => !names.includes(name));
      const unpriced = project.budget.usd === undefined ? [] : used.filter(({ prices }) => isEmpty(prices));
      const inAgentEnv = (all: string[], why: string) =>
        [...new Set(all)]
          .filter((name) => project.agentEnv.includes(name))
          .map((name) => `${place}.agentEnv must not have ${name}. Remove it: ${why}`);
      const contexts = project.context.map(({ name }) => name);
      return [
        ...otherRepository(project, place),
        ...baseFaults(project, place),
        ...commitFaults(project, place),
        ...forkFaults(project, place),
        ...twice(checks, (at) => `${place}.verify[${at}].name`),
        ...twice(contexts, (each) => `${place}.context[${each}].name`),
        ...inAgentEnv(
          gitVariables(project).map(({ name }) => name),
          "the agent may not see what git and the code host are used with.",
        ),
        ...unknown.map(
          (name) =>
            `${place}.models must have only names that are under models. Add ${name} there, or ` +
            "remove it here.",
        ),
        ...inAgentEnv(
          models.map(({ keyEnv }) => keyEnv),
          "the agent gets a placeholder, and the service puts in the key.",
        ),
        ...unpriced.map(
          ({ name }) =>
            `${place}.budget.usd needs prices for the model ${name}. Add them under ` +
            `models[${names.indexOf(name)}].prices, or remove usd.`,
        ),
        ...(used.length === 0 && !isEmpty(project.budget)
          ? [`${place}.budget needs a model. Add one under models: only those can be counted.`]
          : []),
      ];
    }),
  ];
}

/** The service writes to no base branch, and git keeps branches like files in folders. */
function baseFaults({ baseBranch, pullRequests: { branchPrefix } }: ProjectSettings, place: string) {
  if (isBaseBranch(baseBranch, branchPrefix)) return [];
  return [
    `${place}.baseBranch leaves no room for the branches of jobs, which begin with ` +
      `pullRequests.branchPrefix. Change one of the two.`,
  ];
}

/** Pull requests of one repository can't show the branches of another. */
function otherRepository({ repository, codeHost }: ProjectSettings, place: string): string[] {
  if (codeHost.kind === "none") return [];
  const { owner, repo, apiUrl } = codeHost;
  const named = ownerAndRepo(repository, apiUrl);
  if (named === null || named.toLowerCase() === `${owner}/${repo}`.toLowerCase()) return [];
  return [`${place}.repository is ${named}, but its codeHost is ${owner}/${repo}. Correct one of them.`];
}

function commitFaults({ codeHost, commits }: ProjectSettings, place: string): string[] {
  const { name, email, signingKeyFile, by } = commits;
  if (by === "api") {
    const chosen = Object.entries({ name, email, signingKeyFile }).filter(([, value]) => value !== undefined);
    return [
      ...(codeHost.kind === "none"
        ? [`${place}.commits.by: api needs a code host. Set it to git, or set codeHost.`]
        : []),
      ...chosen.map(
        ([key]) =>
          `${place}.commits.${key} can't be used with by: api, because the code host says whose the ` +
          "commits are and signs them. Remove it, or set by to git.",
      ),
    ];
  }
  if (signingKeyFile === undefined || (name !== undefined && email !== undefined)) return [];
  return [
    `${place}.commits.signingKeyFile needs name and email. Set both to those of the account that the ` +
      "key belongs to: an App has no keys.",
  ];
}

function forkFaults({ repository, codeHost, pullRequests, commits }: ProjectSettings, place: string) {
  const { fork } = pullRequests;
  if (fork === undefined) return [];
  const at = `${place}.pullRequests.fork`;
  if (codeHost.kind === "none") return [`${at} needs a code host. Remove it, or set codeHost.`];
  const named = `${codeHost.owner}/${codeHost.repo}`;
  return [
    ...(fork.toLowerCase() === named.toLowerCase() ? [`${at} is the repository itself. Remove it.`] : []),
    ...(forkAt(repository, named, fork) === null
      ? [`${at} needs a repository whose address ends with ${named}. Correct ${place}.repository.`]
      : []),
    ...(codeHost.app === undefined
      ? []
      : [
          `${at} needs codeHost.tokenEnv in place of app: an App's token is for one repository. Use a ` +
            "token of the account that owns the fork.",
        ]),
    ...(commits.by === "api" ? [`${at} can't be used with commits.by: api. Set that to git.`] : []),
  ];
}

function isEmpty(object: object): boolean {
  return Object.values(object).every((value) => value === undefined);
}

/** The variables that hold the operator's secrets. */
function variablesOf({ projects, models }: ServiceSettings): NamedVariable[] {
  const ofProjects = projects.map((project, index) =>
    gitVariables(project).map(({ place, name }) => ({ place: `projects[${index}].${place}`, name })),
  );
  const keys = models.map(({ keyEnv: name }, index) => ({ place: `models[${index}].keyEnv`, name }));
  return [...ofProjects.flat(), ...keys];
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value: unknown, key): unknown => Object(value)[key], raw);
}
