import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { DoctorFinding } from "../../src/service/cli/finding.ts";
import { COMPILE_CACHE } from "./child-process.ts";
import type { Ran } from "./service-process.ts";

const MAIN = fileURLToPath(new URL("../../src/doctor/main.ts", import.meta.url));

/** Runs `npm run doctor` in a folder to its end. */
export async function runDoctor(cwd: string, env: Record<string, string>, ...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", MAIN, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ran: Ran = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (ran.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (ran.stderr += text));
  const [code] = await once(child, "close");
  return { ...ran, code: typeof code === "number" ? code : null };
}

/** What `npm run doctor -- --json` found. */
export async function diagnose(
  cwd: string,
  env: Record<string, string>,
  ...args: string[]
): Promise<{ ok: boolean; findings: DoctorFinding[]; code: number | null }> {
  const { stdout, stderr, code } = await runDoctor(cwd, env, "--json", ...args);
  if (stdout === "") throw new Error(stderr);
  return { ...JSON.parse(stdout), code };
}
