import type { Config } from "../app/config/config.ts";
import type { ServiceConfig } from "../service/config/config.ts";
import { LEVEL_HEADER, levelOfService, SAID_BY_CLIENT } from "../shared/contract/level.ts";
import type { DoctorFinding } from "../service/cli/finding.ts";

const OF = "both";
const ASK_TIMEOUT_MS = 10_000;
const OWN_LEVEL = levelOfService(SAID_BY_CLIENT);

/**
 * Asks each of these job services what it speaks. One that doesn't answer is left out, since others
 * report it. `version` is the package's.
 */
export async function* levelFindings(
  addresses: readonly string[],
  version: string,
): AsyncGenerator<DoctorFinding> {
  for (const baseUrl of new Set(addresses.map((address) => address.replace(/\/+$/, "")))) {
    const level = await levelAt(baseUrl);
    if (level === null) continue;
    const about = { of: OF, part: "versions", tried: `asked ${baseUrl} what it speaks` };
    const found = `this is ${version}, which speaks level ${OWN_LEVEL}, and the job service level ${level}`;
    if (level === OWN_LEVEL) yield { ...about, level: "ok", found, todo: null };
    else {
      const todo =
        level === 0
          ? "Without a level, threads show less. If it is our service, upgrade it. See docs/job-service.md."
          : "Upgrade the older of the two programs.";
      yield { ...about, level: "warn", found, todo };
    }
  }
}

async function levelAt(baseUrl: string): Promise<number | null> {
  try {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
    const { headers } = await fetch(`${baseUrl}/healthz`, { redirect: "manual", signal });
    return levelOfService(headers.get(LEVEL_HEADER));
  } catch {
    return null;
  }
}

/** Says if the app asks the service of these settings for a project that it doesn't have. */
export function* projectFindings(
  { projects }: Pick<Config, "projects">,
  service: Pick<ServiceConfig, "listen" | "projects">,
): Generator<DoctorFinding> {
  const known = service.projects.map(({ id }) => id);
  for (const { id, baseUrl } of projects) {
    const { hostname, port } = new URL(baseUrl);
    const isOurs = Number(port) === service.listen.port && /^(?:127\.|localhost$|\[::1\]$)/.test(hostname);
    if (!isOurs) continue;
    const about = { of: OF, part: `project ${id}`, tried: "compared .env with the service's settings" };
    if (known.includes(id)) yield { ...about, level: "ok", found: "both have it", todo: null };
    else {
      const found = `the service's settings have only ${known.join(", ")}`;
      yield { ...about, level: "fault", found, todo: "Correct the project's id in .env." };
    }
  }
}

/** Says if both programs would serve metrics at the same address of this machine. */
export function* metricsFindings(
  { metricsAddress: app }: Pick<Config, "metricsAddress">,
  { metricsAddress: service }: Pick<ServiceConfig, "metricsAddress">,
): Generator<DoctorFinding> {
  if (app === null || service === null) return;
  const about = { of: OF, part: "metrics", tried: "compared METRICS_ADDRESS with metrics.address" };
  if (!isSameAddress(app, service)) {
    yield { ...about, level: "ok", found: "both have addresses of their own", todo: null };
    return;
  }
  const found = `both programs would serve metrics at port ${app.port} of ${app.host}`;
  const todo = "Give the job service another port: metrics.address in its settings.";
  yield { ...about, level: "fault", found, todo };
}

type Address = NonNullable<Config["metricsAddress"]>;

/** These stand for all addresses of a machine. */
const ANY = new Set(["0.0.0.0", "::"]);

function isSameAddress(one: Address, other: Address): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  return one.host === other.host || ANY.has(one.host) || ANY.has(other.host);
}
