import { checkService, type CheckDeps, type Finding } from "../service/cli/check-service.ts";
import { loadServiceConfig, type ServiceConfig, ServiceConfigError } from "../service/config/config.ts";
import type { Env } from "../service/config/env.ts";
import { type DoctorFinding, settingFault, splitAdvice } from "../service/cli/finding.ts";

const OF = "service";
/** What `config check` does, by the first words of what it checks. */
const TRIED: Readonly<Record<string, string>> = {
  dataDir: "opened it",
  sandbox: "ran a program in it",
  listen: "read the settings",
  user: "asked which user this is",
  runners: "asked the service which there are",
  "runners elsewhere": "read the settings",
  agent: "looked for its program, from inside the sandbox, too",
  "app key": "read the key's file",
  repository: "asked for the branch, and whether a push would be taken",
  pages: "listed the branch's files",
  context: "asked for the branch or tag",
  "code host": "asked its API for the repository and its pull requests",
  liveUrl: "filled in a page",
  commits: "asked whose commits they are, and tried the key that signs",
  check: "ran it on the base branch",
  "admin key": "counted the project's keys",
};

/**
 * Reads the job service's settings file. If they are wrong, returns a finding for each fault.
 */
export function readServiceSettings(
  path: string,
  env: Env,
): { config: ServiceConfig } | { faults: DoctorFinding[] } {
  try {
    return { config: loadServiceConfig(path, env) };
  } catch (thrown) {
    if (!(thrown instanceof ServiceConfigError)) throw thrown;
    return {
      faults: thrown.faults.map((fault) => settingFault(OF, `read ${path} and its variables`, fault)),
    };
  }
}

/** Everything that `config check` tries. */
export async function* serviceFindings(deps: CheckDeps): AsyncGenerator<DoctorFinding> {
  for await (const finding of checkService(deps)) yield toDoctorFinding(finding, deps);
}

function toDoctorFinding(
  { of, what, found, fault, isWarning = false }: Finding,
  { callModel, skipChecks }: CheckDeps,
): DoctorFinding {
  const part = of === OF ? what : `${what} (${of})`;
  const tried = triedFor(what, { callModel, skipChecks });
  if (fault !== null) return { of: OF, part, level: "fault", tried, ...splitAdvice(fault) };
  if (isWarning) return { of: OF, part, level: "warn", tried, ...splitAdvice(found) };
  return { of: OF, part, level: "ok", tried, found, todo: null };
}

function triedFor(
  what: string,
  { callModel, skipChecks }: Pick<CheckDeps, "callModel" | "skipChecks">,
): string {
  if (what === "model") return callModel ? "called it" : "read the settings";
  const name = what.replace(/^(check|context) .*/, "$1");
  if (name === "check" && skipChecks) return "looked for its tool";
  return TRIED[name] ?? "tried it";
}
