import type { Clock } from "../../core/clock.ts";
import { startProcessGroup } from "./process-group.ts";

/** A program and its arguments. */
export type CommandLine = { command: string; args: readonly string[] };

/** The folders of a turn: `job` is all that the agent may write to; `tree` is in it, and where the agent works. */
export type AgentFolders = { dataDir: string; job: string; tree: string };

export type Containment = {
  /** What holds the agent; in the log at the start, for the operator. */
  readonly kind: "namespaces" | "process-group";
  /** The command line that runs `line` in `folders.tree`. Working directory of the outer process: any. */
  wrap(line: CommandLine, folders: AgentFolders): CommandLine;
};

/**
 * Runs first in the new namespaces. The data folder (mirrors, database, other jobs) is covered by an empty one in which only the
 * job's folder shows; every mounted file system that lets itself be is made read-only, except the job's folder and /dev; then the
 * program runs in one more user namespace, from which nothing of this can be undone. The shell stays as the first process
 * of the process namespace: when it ends, the kernel kills all that is left in there, daemons too.
 * `mount -c`: the link is for the kernel to follow, to the folder that was covered.
 */
const SCRIPT = `set -eu
data=$1; job=$2; tree=$3; uid=$4; gid=$5; shift 5
mount --make-rprivate /
cd "$job"
mount -t tmpfs -o mode=0755,size=1m docs-agent "$data"
mkdir -p "$job"
mount -c --bind /proc/self/cwd "$job"
while read -r _ _ _ _ point _; do
  case "$point" in
    /proc|/proc/*|/dev|/dev/*|"$job") ;;
    *) mount -o remount,bind,ro "$point" 2>/dev/null || : ;;
  esac
done </proc/self/mountinfo
cd "$tree"
unshare --user --map-user="$uid" --map-group="$gid" -- "$@"
`;

const NAMESPACES = [
  "--user",
  "--map-root-user",
  "--mount",
  "--pid",
  "--fork",
  "--kill-child",
  "--mount-proc",
];
/** Generous: a machine that is busy for a moment must not leave the agents less contained for as long as the service runs. */
const PROBE_TIME_LIMIT_MS = 60_000;

/** Kills by process group only. A process that leaves the group (`setsid`) and reads of files elsewhere are not held. */
export const processGroupOnly: Containment = { kind: "process-group", wrap: (line) => line };

const namespaces: Containment = {
  kind: "namespaces",
  wrap: (line, { dataDir, job, tree }) => ({
    command: "unshare",
    args: [
      ...NAMESPACES,
      "--",
      "/bin/sh",
      "-c",
      SCRIPT,
      "sh",
      dataDir,
      job,
      tree,
      String(process.getuid?.() ?? 0),
      String(process.getgid?.() ?? 0),
      line.command,
      ...line.args,
    ],
  }),
};

/**
 * Finds out what this machine can hold an agent with: Linux namespaces where unprivileged ones are allowed (many containers and some
 * distributions forbid them), the process group alone elsewhere.
 */
export async function detectContainment(
  env: Readonly<Record<string, string>>,
  folders: AgentFolders,
  clock: Clock,
): Promise<Containment> {
  if (process.platform !== "linux") return processGroupOnly;
  const { command, args } = namespaces.wrap({ command: "true", args: [] }, folders);
  const probe = startProcessGroup({
    command,
    args,
    cwd: folders.job,
    env,
    timeLimitMs: PROBE_TIME_LIMIT_MS,
    maxOutputBytes: 64 * 1024,
    clock,
    signal: AbortSignal.timeout(PROBE_TIME_LIMIT_MS),
    onStdout: () => {},
    onStderr: () => {},
  });
  probe.stdin.end();
  const ending = await probe.ended;
  return ending.kind === "exited" && ending.code === 0 ? namespaces : processGroupOnly;
}
