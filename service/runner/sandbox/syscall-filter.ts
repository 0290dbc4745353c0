/**
 * Numbers of system calls, and how the kernel names the processor (linux/audit.h, asm/unistd.h).
 */
const PROCESSORS: Readonly<Record<string, Processor>> = {
  x64: {
    arch: 0xc000_003e,
    // From here on the numbers of another calling convention (x32) begin.
    end: 0x4000_0000,
    socket: 41,
    denied: [248, 249, 250, 298, 321, 323, 425, 426, 427],
  },
  arm64: {
    arch: 0xc000_00b7,
    end: null,
    socket: 198,
    denied: [217, 218, 219, 241, 280, 282, 425, 426, 427],
  },
};

type Processor = {
  arch: number;
  end: number | null;
  socket: number;
  /**
   * add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd, io_uring_setup,
   * io_uring_enter, io_uring_register.
   */
  denied: readonly number[];
};

/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: those that a network namespace holds in. */
const FAMILIES = [1, 2, 10, 16];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff_0000;
const ERRNO = 0x0005_0000;

/**
 * Offsets in `struct seccomp_data` (linux/seccomp.h). Of the first argument the lower half: it is
 * an int.
 */
const NUMBER = 0;
const ARCH = 4;
const FIRST_ARGUMENT = 16;

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;

/**
 * What an agent may not call of the kernel, as a program for seccomp: the keyrings, which it would
 * share with the service and with other agents; sockets that no network namespace holds in, such as
 * those to a virtual machine's host; and io_uring, which could make such sockets, beside other
 * parts of the kernel that no agent needs. Null: not known for this processor.
 */
export function syscallFilter(processor: string): Buffer | null {
  const known = PROCESSORS[processor];
  if (known === undefined) return null;
  const { arch, end, socket, denied } = known;
  return Buffer.concat([
    step(LOAD, ARCH),
    // Programs for another processor that this one runs, too, have other numbers.
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
 * One `struct sock_filter` (linux/filter.h), in the order of bytes of this machine, which is
 * little-endian for all known processors.
 */
function step(code: number, value: number, { skipIf = 0, skipIfNot = 0 } = {}): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(skipIf, 2);
  bytes.writeUInt8(skipIfNot, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
