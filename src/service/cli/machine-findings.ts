import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { tmpdir, totalmem } from "node:os";
import { dirname, resolve } from "node:path";
import type { Env } from "../config/env.ts";
import { runProgram } from "../runner/workspace/process-group.ts";
import { codeOrNameOf } from "../../shared/errors.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { counted } from "../../shared/text/text.ts";
import type { DoctorFinding } from "./finding.ts";

const OF = "machine";
const FULL_BYTES = 100 * 1024 ** 2;
const LOW_BYTES = 1024 ** 3;
const MEMORY_OF_TURN_BYTES = 2 * 1024 ** 3;
const ASK_TIMEOUT_MS = 10_000;
/** Slack refuses, and we refuse, what was signed longer ago. */
const WRONG_CLOCK_MS = 5 * 60_000;
/** Tokens of GitHub Apps are refused from about here on. */
const POOR_CLOCK_MS = 60_000;
const LEAST_NODE = 24;
const LEAST_GIT = [2, 38] as const;

/** How much room the disk has where `path` is or will be. */
export async function diskFinding(name: string, path: string): Promise<DoctorFinding> {
  let folder = resolve(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const { bavail, bsize, blocks } = await statfs(folder);
  const about = { of: OF, part: `disk of ${name}`, tried: `asked how much room ${folder} has` };
  // A file system that doesn't say how large it is has no blocks.
  if (blocks === 0) return { ...about, level: "ok", found: "its file system doesn't say", todo: null };
  const free = bavail * bsize;
  const found = `${(free / 1024 ** 3).toFixed(1)} GB are free`;
  if (free >= LOW_BYTES) return { ...about, level: "ok", found, todo: null };
  return { ...about, level: free < FULL_BYTES ? "fault" : "warn", found, todo: "Free some space there." };
}

/**
 * Compares the machine's clock with the one of an address that answers. Null if it doesn't, which
 * others report.
 */
export async function clockFinding(
  name: string,
  url: string,
  clock: Pick<Clock, "wallMs">,
): Promise<DoctorFinding | null> {
  const about = { of: OF, part: `clock (${name})`, tried: `read the time of ${new URL(url).host}` };
  const sentMs = clock.wallMs();
  const date = await dateAt(url);
  if (date === null) return null;
  // The header has whole seconds.
  const offMs = Math.abs((sentMs + clock.wallMs()) / 2 - date - 500);
  const found = `this machine's clock differs by ${Math.round(offMs / 1000)} s`;
  if (offMs < POOR_CLOCK_MS) return { ...about, level: "ok", found, todo: null };
  const todo =
    "Set it by NTP, for example with timedatectl set-ntp true. Signatures and tokens have times in them.";
  return { ...about, level: offMs < WRONG_CLOCK_MS ? "warn" : "fault", found, todo };
}

async function dateAt(url: string): Promise<number | null> {
  try {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
    const { headers } = await fetch(url, { method: "HEAD", redirect: "manual", signal });
    const atMs = Date.parse(headers.get("date") ?? "");
    return Number.isNaN(atMs) ? null : atMs;
  } catch {
    return null;
  }
}

/** Which Node.js runs this. */
export function nodeFinding(version: string): DoctorFinding {
  const about = { of: OF, part: "Node.js", tried: "asked for its version", found: version };
  if (Number.parseInt(version, 10) >= LEAST_NODE) return { ...about, level: "ok", todo: null };
  return { ...about, level: "fault", todo: `Use Node.js ${LEAST_NODE} or newer.` };
}

/** How much memory this machine, or its container, has for so many turns at once. */
export function memoryFinding(turns: number): DoctorFinding {
  const about = { of: OF, part: "memory", tried: "asked how much there is" };
  // What bounds a container. Without a bound it is 0, or more than the machine has.
  const bound = process.constrainedMemory();
  const bytes = bound > 0 ? Math.min(bound, totalmem()) : totalmem();
  const found = `${(bytes / 1024 ** 3).toFixed(1)} GB for ${counted(turns, "turn")} at once`;
  if (bytes >= turns * MEMORY_OF_TURN_BYTES) return { ...about, level: "ok", found, todo: null };
  return { ...about, level: "warn", found, todo: "Run fewer turns at once: many agents need 2 GB each." };
}

/** Looks for the programs that the job service runs beside its agents. */
export async function* toolFindings({
  env,
  needsSandbox,
}: {
  env: Env;
  needsSandbox: boolean;
}): AsyncGenerator<DoctorFinding> {
  yield await toolFinding("git", "Install git 2.38 or newer.", env, isNewGit);
  if (!needsSandbox) return;
  yield await toolFinding("bwrap", "Install bubblewrap: apt-get install bubblewrap (Debian, Ubuntu).", env);
  yield await toolFinding("prlimit", "Install util-linux: apt-get install util-linux (Debian, Ubuntu).", env);
}

function isNewGit(said: string): boolean {
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(said) ?? []).map(Number);
  return major > LEAST_GIT[0] || (major === LEAST_GIT[0] && minor >= LEAST_GIT[1]);
}

async function toolFinding(
  command: string,
  todo: string,
  env: Env,
  isFine: (said: string) => boolean = () => true,
): Promise<DoctorFinding> {
  const about = { of: OF, part: command, tried: `ran ${command} --version` };
  const line = {
    command,
    args: ["--version"],
    cwd: tmpdir(),
    env: { PATH: env["PATH"] ?? "/usr/bin:/bin" },
    stdin: "",
    timeLimitMs: ASK_TIMEOUT_MS,
    maxOutputBytes: 10_000,
  };
  try {
    const { ending, stdout } = await runProgram(line, AbortSignal.timeout(2 * ASK_TIMEOUT_MS));
    const [said = ""] = stdout.toString("utf8").split("\n");
    const works = ending.kind === "exited" && ending.code === 0;
    if (works && isFine(said)) return { ...about, level: "ok", found: said, todo: null };
    return { ...about, level: "fault", found: works ? said : `${command} doesn't run here`, todo };
  } catch (thrown) {
    return { ...about, level: "fault", found: `${command} doesn't run here (${codeOrNameOf(thrown)})`, todo };
  }
}
