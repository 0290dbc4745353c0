import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** The Chromium that the tests start. */
export const CHROMIUM_PATH = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";

/**
 * Tools that some tests need beside Node and git, by Debian package, each with a check that it
 * works.
 */
const TRIALS = {
  bubblewrap: () => runs("bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"),
  chromium: () => existsSync(CHROMIUM_PATH),
  "redis-server": () => runs("redis-server", "--version"),
  haproxy: () => runs("haproxy", "-v"),
  strace: () => runs("strace", "-V"),
  // promtool comes with it.
  prometheus: () => runs("promtool", "--version"),
  systemd: () => runs("systemd-analyze", "--version"),
  "openssh-client": () => runs("ssh", "-V"),
  // `script`, which gives a program a terminal.
  bsdutils: () => runs("script", "--version"),
};

/** A tool that some tests need. */
export type Tool = keyof typeof TRIALS;
/** All tools that some tests need. */
export const TOOLS = Object.keys(TRIALS) as Tool[];

/** With `TESTS_REQUIRE_ALL=1`, a test whose tool is missing fails. Otherwise it is left out. */
export const REQUIRES_ALL = process.env["TESTS_REQUIRE_ALL"] === "1";

const known = new Map<Tool, boolean>();

/** True if the tool is missing or doesn't work. */
export function isMissing(tool: Tool): boolean {
  const isThere = known.get(tool) ?? TRIALS[tool]();
  known.set(tool, isThere);
  return !isThere;
}

/** Says that a tool is missing and how to install it. */
export function missingMessage(tool: Tool): string {
  return `${tool} is missing or doesn't work. On Debian and Ubuntu: apt-get install ${tool}`;
}

function runs(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore", timeout: 10_000 }).status === 0;
}
