import { basename, dirname, resolve } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import { DocsAgentError } from "../../shared/errors.ts";
import { readProxySettings } from "../../shared/machine/proxy.ts";
import {
  type MetricsAddress,
  parseMetricsAddress,
  WANT_METRICS_ADDRESS,
} from "../../shared/machine/serve-metrics.ts";
import { readSettingsText } from "../../shared/machine/settings-text.ts";
import { ServiceSettings } from "./config-schema.ts";
import { crossFaults } from "./cross-faults.ts";
import {
  type Env,
  envValue,
  gitVariables,
  type NamedVariable,
  type ServiceModel,
  variableFaults,
} from "./env.ts";
import { KIND_TRAITS } from "../network/gateway/model-kinds.ts";
import { pathFaults } from "./path-faults.ts";
import { type Fork, forkAt, repositoryKind } from "./repository.ts";
import { faultsOf, tokenFaults } from "./setting-faults.ts";

type ProjectSettings = ServiceSettings["projects"][number];

/** The settings, with all that follows from others filled in, and paths made absolute. */
export type ServiceConfig = ReturnType<typeof toConfig> & { metricsAddress: MetricsAddress | null };

/** True if agents run on this machine, and in a sandbox. */
export function usesSandbox({
  containment,
  jobsAtOnce,
}: Pick<ServiceConfig, "containment" | "jobsAtOnce">): boolean {
  return containment === "required" && jobsAtOnce > 0;
}

/**
 * A project of the job service. It holds no secrets: names ending in `Env` are those of environment
 * variables. A local `repository` is an absolute path.
 */
export type ServiceProject = ServiceConfig["projects"][number];

/** Pull requests on GitHub or a host with a compatible API. `app.keyFile` is absolute. */
export type GitHubSettings = Extract<ServiceProject["codeHost"], { kind: "github" }>;

/** Names a code host's repository, alike for all projects that have it. */
export function hostedName({
  apiUrl,
  owner,
  repo,
}: Pick<GitHubSettings, "apiUrl" | "owner" | "repo">): string {
  return `${apiUrl.replace(/\/+$/, "")}/${owner}/${repo}`.toLowerCase();
}

/**
 * The ids of all projects with the same repository at a code host, the project's own among them.
 */
export function projectsBeside(
  { id, codeHost }: Pick<ServiceProject, "id" | "codeHost">,
  projects: Iterable<Pick<ServiceProject, "id" | "codeHost">>,
): string[] {
  if (codeHost.kind !== "github") return [id];
  const name = hostedName(codeHost);
  const others = [...projects].filter(
    (each) => each.codeHost.kind === "github" && hostedName(each.codeHost) === name,
  );
  return others.map((each) => each.id);
}

/**
 * The job service's settings file isn't valid. The message lists every fault and shows no values.
 */
export class ServiceConfigError extends DocsAgentError {
  readonly code = "service_config";
  readonly faults: readonly string[];

  constructor(path: string, faults: readonly string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    const what = faults.length === 1 ? "one setting" : `${faults.length} settings`;
    super(
      `The job service can't use ${path}. Fix ${what}:\n${list}\nservice.example.yml describes ` +
        "every setting.",
    );
    this.faults = faults;
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
    const told = new Set(faults.map(placeOf));
    faults.push(
      ...new Set(faultsOf(parsed.error.issues, raw)).values().filter((each) => !told.has(placeOf(each))),
    );
    throw new ServiceConfigError(file, faults);
  }
  // These messages show names of variables. A secret may have been put in their place.
  if (faults.length === 0) {
    faults.push(...crossFaults(parsed.data));
    if (env !== null) {
      faults.push(...variableFaults(variablesOf(parsed.data), env), ...readProxySettings(env).faults);
      if (givenMetricsAddress(parsed.data, env) !== null && metricsAddressOf(parsed.data, env) === null) {
        faults.push(`METRICS_ADDRESS must be ${WANT_METRICS_ADDRESS}.`);
      }
    }
  }
  const config = {
    ...toConfig(parsed.data, dirname(file)),
    /** Where metrics are served. Null if they aren't. */
    metricsAddress: metricsAddressOf(parsed.data, env ?? {}),
  };
  faults.push(...pathFaults(config));
  if (faults.length > 0) throw new ServiceConfigError(file, faults);
  return config;
}

/** The Slack app reads the same variable, so the settings file comes first. */
function givenMetricsAddress({ metrics }: Pick<ServiceSettings, "metrics">, env: Env): string | null {
  return metrics.address ?? envValue(env, "METRICS_ADDRESS");
}

function metricsAddressOf(settings: Pick<ServiceSettings, "metrics">, env: Env): MetricsAddress | null {
  return parseMetricsAddress(givenMetricsAddress(settings, env) ?? "");
}

/** What people likely did, by the parser's code. */
const YAML_ADVICE: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: "This setting is there a second time. Remove one of the two.",
  MULTILINE_IMPLICIT_KEY: "Write a space after the colon, and quotes around texts with special signs.",
  MISSING_CHAR: "Indent it as its neighbors are, and close each quote and bracket.",
  BAD_INDENT: "Indent it as its neighbors are.",
  BAD_ALIAS: 'Put quotes around a text that begins with *, such as "*.md".',
};

/** The place that a fault of a value begins with. */
function placeOf(fault: string): string {
  return fault.split(" ", 1)[0] ?? "";
}

const TABS = "must be indented with spaces, not tabs.";

function readYaml(file: string): unknown {
  const { text, fault } = readSettingsText(file);
  if (text === null) {
    throw new ServiceConfigError(file, [
      `${fault} Or copy service.example.yml there, or name another file with --config.`,
    ]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines, uniqueKeys: true });
  // Shows only the place and the kind of a fault, because the parser's own messages quote the file.
  const faults = document.errors.map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    if (error.code === "TAB_AS_INDENT") return `Line ${line} ${TABS}`;
    const advice = YAML_ADVICE[error.code];
    if (advice !== undefined) return `Line ${line} isn't valid YAML. ${advice}`;
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
    throw new ServiceConfigError(file, [
      'Put quotes around texts that begin with *, such as "*.md". If they are aliases, write the values out.',
    ]);
  }
}

function toConfig(settings: ServiceSettings, folder: string) {
  const { models, metrics: _, ...rest } = settings;
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
      agent: agentIn(folder, project.agent),
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

function agentIn(folder: string, agent: ProjectSettings["agent"]): ProjectSettings["agent"] {
  return agent.briefFile === undefined ? agent : { ...agent, briefFile: resolve(folder, agent.briefFile) };
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

/** The variables that hold the operator's secrets. */
function variablesOf({ projects, models }: ServiceSettings): NamedVariable[] {
  const ofProjects = projects.map((project, index) =>
    gitVariables(project).map(({ place, name }) => ({ place: `projects[${index}].${place}`, name })),
  );
  const keys = models.map(({ keyEnv: name }, index) => ({ place: `models[${index}].keyEnv`, name }));
  return [...ofProjects.flat(), ...keys];
}
