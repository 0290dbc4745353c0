import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { oneLine } from "../../../base/printable-text.ts";
import { type Env, pickEnv } from "../../../config/env.ts";
import { runProgram } from "../process-group.ts";
import { bubblewrap, type BubblewrapOptions } from "./bubblewrap.ts";
import { findProgram } from "./program.ts";
import { type CommandLine, type Sandbox, type SandboxedAgent, SandboxMissingError } from "./sandbox.ts";
import type { TurnGroups } from "./turn-groups.ts";

type OpenSandboxOptions = Pick<BubblewrapOptions, "folder" | "env"> & {
  containment: "required" | "none";
  /** @default null, without control groups */
  groups?: TurnGroups | null;
};

const INSTALL_PRLIMIT =
  "It comes with util-linux: apt-get install util-linux (Debian, Ubuntu), dnf install util-linux " +
  "(Fedora, RHEL), apk add util-linux-misc (Alpine).";

/** Generous, because the machine may be busy. */
const PROBE_TIME_LIMIT_MS = 60_000;
const INSTALL =
  "Install bubblewrap: apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap " +
  "(Fedora, RHEL), apk add bubblewrap (Alpine).";

/**
 * Opens the sandbox that the settings ask for, and tries it. If control groups don't work, it goes
 * without them. Rejects with a {@link SandboxMissingError}.
 */
export async function openSandbox(options: OpenSandboxOptions): Promise<Sandbox> {
  const { containment, env, folder, groups = null } = options;
  if (containment === "none") return noSandbox(env);
  if (process.platform !== "linux") {
    throw new SandboxMissingError(
      `bubblewrap is for Linux, and this is ${process.platform}`,
      "Run the service on Linux.",
    );
  }
  const searchPath = env["PATH"] ?? "/usr/bin:/bin";
  const bwrap = await findProgram("bwrap", searchPath);
  if (bwrap === null) throw new SandboxMissingError("bubblewrap is not installed", INSTALL);
  const prlimit = await findProgram("prlimit", searchPath);
  if (prlimit === null) throw new SandboxMissingError("prlimit is not installed", INSTALL_PRLIMIT);
  const filter = syscallFilter(process.arch);
  if (filter === null) {
    throw new SandboxMissingError(
      `agents' system calls can't be filtered on ${process.arch}`,
      "Run the service on a machine with an x64 or arm64 processor.",
    );
  }
  const found = { filter, bwrap: bwrap.path, prlimit: prlimit.path, folder, env, groups };
  let words: string | null = null;
  for (const canNest of [false, true]) {
    const sandbox = await bubblewrap({ ...found, canNest });
    words = await wordsOfProbe(sandbox, options);
    if (words === null) return sandbox;
    // Bubblewrap before 0.8 can't keep agents from creating namespaces.
    if (!words.includes("--disable-userns")) break;
  }
  if (groups !== null) return openSandbox({ ...options, groups: null });
  throw new SandboxMissingError(`bubblewrap does not work here (${words})`, await remedyOf());
}

/**
 * `containment: none`: agents run as the service's user and see what it sees. Only their process
 * group is ended with them, and a process that leaves the group escapes.
 */
function noSandbox(env: Env): Sandbox {
  return {
    kind: "none",
    bounds: { memory: "none", processes: "none" },
    open: async ({ folders: { tree, home, tmp } }) => ({
      inside: { tree, home, tmp },
      networkPort: null,
      contain: (line, given) => ({ ...line, env: { ...pickEnv(env, ["PATH"]), ...given }, cwd: tree }),
      ranOutOfMemory: async () => false,
      [Symbol.asyncDispose]: async () => {},
    }),
  };
}

/**
 * Runs a program in the sandbox. Resolves to null if that works, and otherwise to bubblewrap's
 * error message.
 */
async function wordsOfProbe(sandbox: Sandbox, { folder }: OpenSandboxOptions): Promise<string | null> {
  const job = join(folder, "probe");
  const limits = { memoryMegabytes: 1024, processes: 64, diskMegabytes: 64 };
  try {
    const signal = AbortSignal.timeout(PROBE_TIME_LIMIT_MS);
    const agent = { folder: job, command: "true", readable: [], limits };
    const { ending, stderr } = await runInside(sandbox, agent, { command: "true", args: [] }, signal);
    if (ending.kind === "exited" && ending.code === 0) return null;
    return oneLine(stderr, 300) || `it ended with ${JSON.stringify(ending)}`;
  } finally {
    await rm(job, { recursive: true, force: true });
  }
}

/** Runs a small program in a sandbox of its own, whose folders are made in `folder`. */
export async function runInside(
  sandbox: Sandbox,
  { folder, ...agent }: Omit<SandboxedAgent, "folders" | "networkSocket"> & { folder: string },
  line: CommandLine,
  signal: AbortSignal,
) {
  const folders = { tree: join(folder, "tree"), home: join(folder, "home"), tmp: join(folder, "tmp") };
  const places = (agent.shown ?? []).map(({ at }) => join(folders.tree, at));
  for (const made of [...Object.values(folders), ...places]) {
    await mkdir(made, { recursive: true, mode: 0o700 });
  }
  await using opened = await sandbox.open({ ...agent, folders, networkSocket: null });
  const limits = { timeLimitMs: PROBE_TIME_LIMIT_MS, maxOutputBytes: 64 * 1024 };
  return await runProgram({ ...opened.contain(line), stdin: "", ...limits }, signal);
}

/** Why a kernel refuses namespaces to anyone but root. */
async function remedyOf(): Promise<string> {
  if ((await kernelSetting("apparmor_restrict_unprivileged_userns")) === "1") {
    return (
      "AppArmor forbids it, as on Ubuntu 24.04: copy deploy/apparmor-bwrap to " +
      "/etc/apparmor.d/bwrap, and run: apparmor_parser -r /etc/apparmor.d/bwrap"
    );
  }
  if ((await kernelSetting("unprivileged_userns_clone")) === "0") {
    return (
      "The kernel forbids namespaces: run sysctl -w kernel.unprivileged_userns_clone=1, and add the " +
      "setting to a file in /etc/sysctl.d."
    );
  }
  return "In a container, the host has to allow user namespaces: docs/containment.md says how.";
}

async function kernelSetting(name: string): Promise<string | null> {
  const text = await readFile(`/proc/sys/kernel/${name}`, "utf8").catch(() => null);
  return text?.trim() ?? null;
}

type Processor = { arch: number; end: number | null; socket: number; denied: readonly number[] };

/**
 * Numbers of system calls, and the kernel's names of processors (linux/audit.h, asm/unistd.h).
 * Denied are add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd, io_uring_setup,
 * io_uring_enter and io_uring_register.
 */
const PROCESSORS: Readonly<Record<string, Processor>> = {
  x64: {
    arch: 0xc000_003e,
    // The numbers of another calling convention (x32) begin here.
    end: 0x4000_0000,
    socket: 41,
    denied: [248, 249, 250, 298, 321, 323, 425, 426, 427],
  },
  arm64: { arch: 0xc000_00b7, end: null, socket: 198, denied: [217, 218, 219, 241, 280, 282, 425, 426, 427] },
};

/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: those that a network namespace confines. */
const FAMILIES = [1, 2, 10, 16];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff_0000;
const ERRNO = 0x0005_0000;

/**
 * Offsets in `struct seccomp_data` (linux/seccomp.h). Of the first argument, which is an int, we
 * need the lower half.
 */
const NUMBER = 0;
const ARCH = 4;
const FIRST_ARGUMENT = 16;

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;

/**
 * A seccomp filter for the system calls that an agent must not make: the keyrings, which it would
 * share with the service and other agents; sockets that no network namespace confines, such as
 * those to a virtual machine's host; io_uring, which could create such sockets; and other parts of
 * the kernel that no agent needs. Null for an unknown processor.
 */
function syscallFilter(processor: string): Buffer | null {
  const known = PROCESSORS[processor];
  if (known === undefined) return null;
  const { arch, end, socket, denied } = known;
  return Buffer.concat([
    step(LOAD, ARCH),
    // Programs for another processor that this one can also run have other numbers.
    unless(IF_EQUAL, arch, ERRNO | ENOSYS),
    step(LOAD, NUMBER),
    ...(end === null ? [] : [when(IF_AT_LEAST, end, ERRNO | ENOSYS)]),
    ...denied.map((number) => when(IF_EQUAL, number, ERRNO | EPERM)),
    unless(IF_EQUAL, socket, ALLOW),
    step(LOAD, FIRST_ARGUMENT),
    ...FAMILIES.map((family) => when(IF_EQUAL, family, ALLOW)),
    step(RETURN, ERRNO | EAFNOSUPPORT),
  ]);
}

function when(condition: number, value: number, result: number): Buffer {
  return Buffer.concat([step(condition, value, { skipIfNot: 1 }), step(RETURN, result)]);
}

function unless(condition: number, value: number, result: number): Buffer {
  return Buffer.concat([step(condition, value, { skipIf: 1 }), step(RETURN, result)]);
}

/**
 * One `struct sock_filter` (linux/filter.h), in this machine's byte order, which is little-endian
 * for all known processors.
 */
function step(code: number, value: number, { skipIf = 0, skipIfNot = 0 } = {}): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(skipIf, 2);
  bytes.writeUInt8(skipIfNot, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
