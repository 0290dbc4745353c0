import { resolve } from "node:path";
import { z } from "zod";
import { DocsAgentError } from "../../../shared/errors.ts";
import { LOG_LEVELS } from "../../../shared/machine/clock-and-log.ts";
import { readProxySettings } from "../../../shared/machine/proxy.ts";
import { SettingsReader, whole } from "../../../shared/machine/settings-reader.ts";
import type { Env } from "../../config/env.ts";
import { dataDirFaults } from "../../config/path-faults.ts";
import { RunnerLabels } from "../../config/setting-types.ts";
import { isThisMachine, scopeOf } from "../../network/egress/find-route.ts";

/** The settings of a runner elsewhere. */
export type RunnerProgramSettings = ReturnType<typeof loadRunnerSettings>;

/** The settings are incomplete or wrong. The message lists every fault and shows no token. */
export class RunnerSettingsError extends DocsAgentError {
  readonly code = "runner_settings";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    const settings = faults.length === 1 ? "1 setting" : `${faults.length} settings`;
    super(
      `The runner can't start. Fix ${settings}:\n${list}\nSet them in the environment, or in a file .env ` +
        "in the folder where it starts. docs/runners.md describes all of them.",
    );
    this.faults = faults;
  }
}

const WANT_URL = "the job service's address: https://…, or http://… on this machine or a private network";
const WANT_TOKEN = "the token that runners add printed";
const WANT_LABELS =
  "at most 20 labels, separated by commas, each of at most 40 lower-case letters, digits, '.', '_' or '-'";
/** As the service makes them. Its keys for clients have another form. */
const TOKEN = /^\S{1,100}_runner_[\w-]{20,100}$/;
/** Names without a dot, and those that are never on the internet. */
const PRIVATE_NAME = /^[a-z0-9_-]+$|\.(?:internal|local|lan|svc|home\.arpa|cluster\.local)$/i;

const ServiceUrl = z
  .string()
  .transform((value) => value.replace(/\/+$/, ""))
  .refine((value) => {
    const url = URL.parse(value);
    if (url === null || [url.username, url.password, url.search, url.hash].some((part) => part !== ""))
      return false;
    return url.protocol === "https:" || (url.protocol === "http:" && isNear(url.hostname));
  });

const Labels = z
  .string()
  .transform((list) => [...new Set(list.split(",").map((label) => label.trim()))])
  .pipe(RunnerLabels.unwrap());

/** Reads the settings. Throws a {@link RunnerSettingsError} that lists every fault at once. */
export function loadRunnerSettings(env: Env) {
  const from = new SettingsReader(env);
  const serviceUrl = from.need("RUNNER_SERVICE_URL", ServiceUrl, WANT_URL);
  const token = from.needSecret("RUNNER_TOKEN", z.string().regex(TOKEN), WANT_TOKEN);
  const dataDir = resolve(from.given("RUNNER_DATA_DIR") ?? "./runner-data");
  const settings = {
    serviceUrl,
    token,
    dataDir,
    places: from.read("RUNNER_PLACES", whole(1, 100), "how many turns run at once, 1 to 100", 2),
    labels: from.read("RUNNER_LABELS", Labels, WANT_LABELS, []),
    containment: from.readWord("RUNNER_CONTAINMENT", ["required", "none"], "required"),
    stopGraceMinutes: from.read(
      "RUNNER_STOP_GRACE_MINUTES",
      whole(0, 1440),
      "how many minutes running turns may go on after a stop, 0 to 1440",
      1,
    ),
    logLevel: from.readWord("LOG_LEVEL", LOG_LEVELS, "info"),
  };
  from.findMisspelled();
  const faults = [
    ...from.faults,
    ...dataDirFaults("RUNNER_DATA_DIR", dataDir),
    ...readProxySettings(env).faults,
  ];
  if (faults.length > 0) throw new RunnerSettingsError(faults);
  return { ...settings, warnings: from.unknown("RUNNER_").map(unknownText) };
}

/** True if what goes to this host stays on this machine or a private network. */
function isNear(hostname: string): boolean {
  const host = hostname.replaceAll(/[[\]]/g, "");
  return isThisMachine(host) || scopeOf(host) === "private" || PRIVATE_NAME.test(host);
}

function unknownText(name: string): string {
  return `${name} isn't a setting of the runner. Remove it, unless something else needs it.`;
}
