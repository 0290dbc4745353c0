import { tryApp } from "../app/check.ts";
import { ConfigError, loadConfig, type Config } from "../app/config/config.ts";
import type { Env } from "../service/config/env.ts";
import type { Clock } from "../shared/machine/ports.ts";
import { asDoctorFinding, type DoctorFinding, settingFault } from "../service/cli/finding.ts";

const OF = "app";
/** What `tryApp` does, by the beginning of a finding's name. */
const TRIED: readonly (readonly [name: string, tried: string])[] = [
  ["Slack", "asked Slack who the app is"],
  ["Scopes", "compared the scopes that Slack lists with manifest.yml"],
  ["Socket Mode", "opened a connection with SLACK_APP_TOKEN"],
  ["Access", "looked up the channels and groups in ALLOW_CHANNELS and ALLOW_GROUPS"],
  ["Store", "opened the store and wrote to it"],
  ["Port", "listened there for a moment"],
  ["Times", "read the settings"],
  ["Contact", "read HELP_CONTACT"],
  ["Job service", "asked for jobs and changes with the API key"],
];

/** The variables of which any says that the Slack app is set up here. */
const SIGNS = ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "DOCS_AGENT_API_KEY"];

/** True if the environment has settings of the Slack app. */
export function hasAppSettings(env: Env): boolean {
  return SIGNS.some((name) => (env[name] ?? "").trim() !== "");
}

/** Reads the Slack app's settings. If they are wrong, returns a finding for each fault. */
export function readAppSettings(env: Env): { config: Config } | { faults: DoctorFinding[] } {
  try {
    return { config: loadConfig(env) };
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    return { faults: thrown.faults.map((fault) => settingFault(OF, "read the environment and .env", fault)) };
  }
}

/** Everything that `npm start -- --check` tries. */
export async function* appFindings(config: Config, clock: Clock): AsyncGenerator<DoctorFinding> {
  for (const finding of await tryApp(config, clock)) {
    const [, tried = "tried it"] = TRIED.find(([name]) => finding.name.startsWith(name)) ?? [];
    yield asDoctorFinding(OF, tried, finding);
  }
}
