import { existsSync } from "node:fs";
import type { Config } from "../app/config/config.ts";
import { type ServiceConfig, usesSandbox } from "../service/config/config.ts";
import { type Env, serviceProxy } from "../service/config/env.ts";
import { fetchThrough } from "../shared/machine/dispatcher.ts";
import type { Clock } from "../shared/machine/ports.ts";
import { serviceName } from "../app/check.ts";
import { appFindings, hasAppSettings, readAppSettings } from "./app-findings.ts";
import type { DoctorFinding } from "../service/cli/finding.ts";
import { levelFindings, metricsFindings, projectFindings } from "./fit-findings.ts";
import { clockFinding, diskFinding, nodeFinding, toolFindings } from "../service/cli/machine-findings.ts";
import { liveFindings, type LivePlace } from "./live-findings.ts";
import { manifestFindings } from "./manifest-findings.ts";
import { redisFindings } from "./redis-findings.ts";
import { readServiceSettings, serviceFindings } from "./service-findings.ts";
import { commandOf } from "../shared/machine/this-copy.ts";

/** What the doctor is to look at, and how. */
export type DoctorOptions = {
  /** The job service's settings file, which need not be there. */
  configPath: string;
  /** True if models are called, which may cost a few tokens. */
  callModel: boolean;
  /** True if the projects' checks aren't run. */
  skipChecks: boolean;
  /** Where to try the real thing, once. Null if it isn't tried. */
  live?: LivePlace | null;
  /** The Slack app's id, where SLACK_APP_TOKEN doesn't have it. */
  appId?: string | undefined;
};

export type DoctorDeps = DoctorOptions & {
  /** The environment, with what `.env` adds. */
  env: Env;
  clock: Clock;
  /** The package's version. */
  version: string;
  /** Called with what takes a while. */
  onProgress: (line: string) => void;
};

/** Tries everything that the two programs need, as far as their settings are here. */
export async function* examine(deps: DoctorDeps): AsyncGenerator<DoctorFinding> {
  const { env, configPath, clock, version } = deps;
  fetchThrough(serviceProxy(env));
  const app = hasAppSettings(env) ? readAppSettings(env) : null;
  const service = existsSync(configPath) ? readServiceSettings(configPath, env) : null;
  if (app === null && service === null) {
    const todo = `Run ${commandOf("setup")}, or name the files with --env and --config.`;
    const tried = `looked for SLACK_BOT_TOKEN and ${configPath}`;
    yield { of: "both", part: "settings", level: "fault", tried, found: "there are none", todo };
    return;
  }
  yield nodeFinding(process.versions.node);
  if (app !== null && "faults" in app) yield* app.faults;
  if (service !== null && "faults" in service) yield* service.faults;
  const config = app !== null && "config" in app ? app.config : null;
  const ofService = service !== null && "config" in service ? service.config : null;
  const reached: string[] = [];
  if (config !== null) yield* ofApp(config, deps, reached);
  if (ofService !== null) yield* ofServiceIn(ofService, deps);
  if (config !== null) {
    yield* levelFindings(reached, version);
    if (ofService !== null) {
      yield* projectFindings(config, ofService);
      yield* metricsFindings(config, ofService);
    }
  }
  yield* clocks(config, ofService, clock);
  const { live = null } = deps;
  if (live !== null) yield* liveFindings({ app: config, service: ofService }, { ...deps, ...live });
}

/** Adds to `reached` the addresses of the job services that answer as such. */
async function* ofApp(
  config: Config,
  { clock, env, appId }: DoctorDeps,
  reached: string[],
): AsyncGenerator<DoctorFinding> {
  const refused = new Set<string>();
  for await (const finding of appFindings(config, clock)) {
    if (finding.level === "fault") refused.add(finding.part);
    yield finding;
  }
  const answering = config.projects.filter(({ id }) => !refused.has(serviceName(id)));
  reached.push(...answering.map(({ baseUrl }) => baseUrl));
  yield* manifestFindings(config, { env, appId });
  yield* redisFindings(config.storeUrl);
  const path = /^sqlite:\/\/(.+)$/.exec(config.storeUrl)?.[1];
  if (path !== undefined) yield await diskFinding("the store", path);
}

async function* ofServiceIn(config: ServiceConfig, deps: DoctorDeps): AsyncGenerator<DoctorFinding> {
  const { configPath, env } = deps;
  const configOption = configPath === "./service.yml" ? "" : ` --config ${configPath}`;
  yield* toolFindings({ env, needsSandbox: usesSandbox(config) });
  yield* serviceFindings({ ...deps, config, configOption });
  yield await diskFinding("dataDir", config.dataDir);
}

/** Compares the clock with those of Slack and of each code host, once for each address. */
async function* clocks(
  app: Config | null,
  service: ServiceConfig | null,
  clock: Clock,
): AsyncGenerator<DoctorFinding> {
  const hosts = service?.projects.flatMap(({ codeHost }) => ("apiUrl" in codeHost ? [codeHost.apiUrl] : []));
  const named = [
    ...(app === null ? [] : [["Slack", app.slack.apiUrl] as const]),
    ...[...new Set(hosts)].map((url) => ["code host", url] as const),
  ];
  for (const [name, url] of named) {
    const finding = await clockFinding(name, url, clock);
    if (finding !== null) yield finding;
  }
}
