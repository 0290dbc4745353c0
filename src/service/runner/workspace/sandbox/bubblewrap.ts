import { existsSync } from "node:fs";
import { lstat, mkdir, readlink, realpath, writeFile } from "node:fs/promises";
import { basename, dirname, join, normalize, resolve } from "node:path";
import type { Env } from "../../../config/env.ts";
import { isWithin } from "../../../base/paths.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import { findProgram, type Program, SYSTEM_FOLDERS } from "./program.ts";
import type {
  AgentLimits,
  CommandLine,
  InsidePaths,
  Sandbox,
  SandboxedAgent,
  TurnSandbox,
} from "./sandbox.ts";
import type { TurnGroups } from "./turn-groups.ts";
import { programFile } from "../../../../shared/machine/this-copy.ts";

/**
 * The folders and files of /etc that programs need and that contain nothing private. Private keys
 * are beside the certificates.
 */
const ETC = [
  "/etc/alternatives",
  "/etc/ca-certificates",
  "/etc/fonts",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/os-release",
  "/etc/pki/ca-trust",
  "/etc/pki/tls/cert.pem",
  "/etc/pki/tls/certs",
  "/etc/protocols",
  "/etc/services",
  "/etc/ssl/cert.pem",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
];

/** The agent's user id in its sandbox. Outside, it is the service's user. */
const UID = "1000";
const OWN_ETC: Record<string, string> = {
  passwd: `agent:x:${UID}:${UID}:agent:/run/agent/home:/bin/sh\n`,
  group: `agent:x:${UID}:\n`,
  hosts: "127.0.0.1 localhost docs-agent\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
};

/** The home isn't where people's homes are, because programs may be installed in those. */
const INSIDE: InsidePaths = { tree: "/repo", home: "/run/agent/home", tmp: "/tmp" };
/** A link to `/tmp` in the sandbox. */
const VAR_TMP = "/var/tmp";
const BIN = "/run/agent/bin";
/** Connects a port of the sandbox's own loopback with the socket of the way out. */
const RELAY = programFile("../../../network/egress/relay", import.meta.url);
const WAY_OUT = {
  node: "/run/agent/way-out/node",
  relay: `/run/agent/way-out/${basename(RELAY)}`,
  socket: "/run/agent/way-out/socket",
  port: 3128,
};
const PATH = `${BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
const MEGABYTE = 1024 ** 2;
const SHARED_MEMORY_BYTES = 256 * MEGABYTE;

export type BubblewrapOptions = {
  /** Absolute, so that nothing in an agent's environment decides which program this is. */
  bwrap: string;
  /** From util-linux, absolute. */
  prlimit: string;
  /** The system calls that an agent may make, as a seccomp filter. */
  filter: Buffer;
  /** Null if control groups aren't available. */
  groups: TurnGroups | null;
  /** A folder that agents can't reach. */
  folder: string;
  /** The service's environment. */
  env: Env;
  /**
   * True if an agent may create namespaces of its own, which exposes more of the kernel to attacks.
   */
  canNest: boolean;
};

/**
 * Contains agents with bubblewrap, by an allow-list. An agent sees the system's programs and
 * certificates (read-only), its own program, what the settings name, and its folders. It has an
 * empty network of its own, and ends with the service.
 */
export async function bubblewrap(options: BubblewrapOptions): Promise<Sandbox> {
  const system = await prepareSystem(options.folder);
  const boundBy = (isByGroup = false) => (isByGroup ? "cgroup" : "rlimit");
  const { memory, processes } = options.groups?.bounds ?? {};
  const bounds: Sandbox["bounds"] = { memory: boundBy(memory), processes: boundBy(processes) };

  const open: Sandbox["open"] = async (agent) => {
    const { command, networkSocket, limits } = agent;
    const readable = agent.readable.map((path) => normalize(path));
    const program = await programOf(command, readable, options);
    const mounts = mountsOf(agent, { program, readable, system, canNest: options.canNest });
    const group = await options.groups?.open(limits);
    const contain: TurnSandbox["contain"] = ({ command: inner, args }, env = {}) => ({
      ...inGroup(group?.procs ?? null, {
        command: options.bwrap,
        args: [
          "--args",
          "3",
          "--seccomp",
          "4",
          "--",
          ...limitsOf(options.prlimit, limits, bounds),
          ...(networkSocket === null ? [] : VIA_RELAY),
          inner === command ? program.path : inner,
          ...args,
        ],
      }),
      // Bubblewrap itself runs outside, so the agent's environment only applies inside.
      env: {},
      cwd: "/",
      inputs: [
        argumentsOf([
          ...mounts,
          ...Object.entries({ PATH, ...env }).map((entry) => ["--setenv", ...entry]),
          ["--chdir", INSIDE.tree],
        ]),
        options.filter,
      ],
    });
    return {
      inside: INSIDE,
      networkPort: WAY_OUT.port,
      ranOutOfMemory: async () => (await group?.ranOutOfMemory()) ?? false,
      [Symbol.asyncDispose]: async () => group?.[Symbol.asyncDispose](),
      contain,
    };
  };

  return { kind: "bubblewrap", bounds, open };
}

/** What every sandbox shows of this machine: programs, certificates and our own files of /etc. */
type SystemParts = { mounts: string[]; etc: string; node: string };

async function prepareSystem(folder: string): Promise<SystemParts> {
  const etc = join(folder, "etc");
  await mkdir(etc, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(OWN_ETC)) await writeFile(join(etc, name), text);
  return { mounts: await systemMounts(), etc, node: await realpath(process.execPath) };
}

/**
 * The agent's program. Rejects if there is none, or if a folder of the agent's own would hide it.
 */
async function programOf(
  command: string,
  readable: readonly string[],
  { env }: BubblewrapOptions,
): Promise<Program> {
  const program = await findProgram(command, env["PATH"] ?? "/usr/bin:/bin");
  if (program === null) {
    throw new TurnFailedError("The agent couldn't be started.", {
      details: [`There is no program ${JSON.stringify(command)}. Install it, or correct agent.command.`],
    });
  }
  const taken = [...program.needs, ...readable].find(isAgentsOwn);
  if (taken !== undefined) {
    throw new TurnFailedError("The agent couldn't be started.", {
      details: [
        `The sandbox can't show ${taken}: in its place is a folder of the agent's own. Move it, ` +
          "and correct agent.command or agent.readable.",
      ],
    });
  }
  return program;
}

/** `readable` are further files and folders that the agent may read. */
type MountedParts = { program: Program; readable: readonly string[]; system: SystemParts; canNest: boolean };

/** The arguments that make the agent's view of the machine. Later ones cover earlier ones. */
function mountsOf(
  { folders, networkSocket, shown = [] }: SandboxedAgent,
  { program, readable, system, canNest }: MountedParts,
): string[][] {
  return [
    NAMESPACES.flat(),
    // The file lists descriptions of the service's keys.
    existsSync("/proc/keys") ? ["--ro-bind", "/dev/null", "/proc/keys"] : [],
    canNest ? [] : ["--disable-userns"],
    system.mounts,
    ...Object.keys(OWN_ETC).map((name) => ["--ro-bind", join(system.etc, name), `/etc/${name}`]),
    ["--bind", folders.tree, INSIDE.tree],
    ["--bind", folders.home, INSIDE.home],
    ["--bind", folders.tmp, INSIDE.tmp],
    ["--symlink", INSIDE.tmp, VAR_TMP],
    ...(networkSocket === null
      ? []
      : [
          ["--ro-bind", system.node, WAY_OUT.node],
          ["--ro-bind", RELAY, WAY_OUT.relay],
          ["--bind", networkSocket, WAY_OUT.socket],
        ]),
    ...shown.map(({ from, at }) => ["--ro-bind", from, resolve(INSIDE.tree, at)]),
    // Mounted after the agent's own folders, because a program may be below this machine's /tmp.
    ...program.needs.map((path) => ["--ro-bind", path, path]),
    ...[...program.names].map(([name, path]) => ["--symlink", path, `${BIN}/${name}`]),
    ...readable.map((path) => ["--ro-bind-try", path, path]),
    // Nothing else can be written to.
    ["--remount-ro", "/dev", "--remount-ro", "/"],
  ];
}

/**
 * The process is in its group before it becomes the program, and so is everything that it starts.
 */
function inGroup(procs: string | null, line: CommandLine): CommandLine {
  if (procs === null) return line;
  const args = ["-c", 'echo 0 > "$0" && exec "$@"', procs, line.command, ...line.args];
  return { command: "/bin/sh", args };
}

const NAMESPACES = [
  ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"],
  ["--unshare-cgroup-try"],
  ["--uid", UID, "--gid", UID, "--hostname", "docs-agent"],
  ["--die-with-parent", "--clearenv"],
  ["--proc", "/proc", "--dev", "/dev"],
  ["--perms", "1777", "--size", String(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"],
];

/** In the form that bubblewrap reads from a file descriptor: each ends with a zero byte. */
function argumentsOf(words: readonly (readonly string[])[]): Buffer {
  const ended = words.flat().map((word) => `${word.replaceAll("\0", "")}\0`);
  return Buffer.from(ended.join(""));
}

/** Mounts the system's folders and files that exist. A link stays a link. */
async function systemMounts(): Promise<string[]> {
  const mounts = await Promise.all(
    [...SYSTEM_FOLDERS, ...ETC].map(async (path) => {
      const stats = await lstat(path).catch(() => null);
      if (stats === null) return [];
      if (stats.isSymbolicLink() && dirname(path) === "/") return ["--symlink", await readlink(path), path];
      const real = await realpath(path).catch(() => null);
      return real === null ? [] : ["--ro-bind", real, path];
    }),
  );
  return mounts.flat();
}

/**
 * True if a mount at this path would need a folder that an agent can write to, or would hide it.
 */
function isAgentsOwn(path: string): boolean {
  if (path === INSIDE.tmp) return true;
  return [INSIDE.tree, INSIDE.home, VAR_TMP].some((own) => isWithin(own, path));
}

const VIA_RELAY = [WAY_OUT.node, WAY_OUT.relay, WAY_OUT.socket, String(WAY_OUT.port), "--"];

function limitsOf(prlimit: string, limits: AgentLimits, bounds: Sandbox["bounds"]): string[] {
  return [
    prlimit,
    "--core=0",
    `--fsize=${limits.diskMegabytes * MEGABYTE}`,
    ...(bounds.memory === "rlimit" ? [`--data=${limits.memoryMegabytes * MEGABYTE}`] : []),
    ...(bounds.processes === "rlimit" ? [`--nproc=${limits.processes}`] : []),
    "--",
  ];
}
