import { EnvFileError, loadEnvFile } from "../shared/machine/env-file.ts";
import { type DoctorFinding, splitAdvice } from "../service/cli/finding.ts";

/** Variables that a shell or a service manager sets for every program. */
const EVERYWHERE = new Set(["PATH", "HOME", "USER", "TZ", "LANG", "NODE_ENV", "NODE_OPTIONS"]);

/** Adds a file's variables to the environment, and says what is wrong with the file. */
export function* envFileFindings(
  path: string,
  env: Record<string, string | undefined>,
): Generator<DoctorFinding> {
  const about = { of: "both", part: path, tried: "read its lines" };
  try {
    const shadowed = loadEnvFile(path, env).filter((name) => !EVERYWHERE.has(name));
    if (shadowed.length === 0) return;
    const found = `the environment has another value for ${shadowed.join(", ")}, and that one counts`;
    yield { ...about, level: "warn", found, todo: `Unset it there, or remove it from ${path}.` };
  } catch (thrown) {
    if (!(thrown instanceof EnvFileError)) throw thrown;
    for (const fault of thrown.faults) yield { ...about, level: "fault", ...splitAdvice(fault) };
  }
}
