import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { BenchError } from "./scenario.ts";

/** The repository that contains this bench. */
export const OWN_ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The commit to compare the present program with: the last one before its core was reshaped. */
export const BASELINE = "899ea2e";

const GIT_TIMEOUT_MS = 30_000;
const ARCHIVE_MAX_BYTES = 64 * 2 ** 20;

const Package = z.object({ scripts: z.object({ start: z.string() }) });

/** A version of the program in a folder of its own. */
export type Checkout = {
  name: string;
  root: string;
  /** Node.js's arguments to start it: its own flags, and the path of the program. */
  nodeArgs: string[];
  /** The variables that `npm start` adds to the environment. */
  env: Record<string, string>;
};

/** Opens the program in a folder, to be started as its `npm start` does. */
export function openCheckout(folder: string, name = basename(resolve(folder))): Checkout {
  const root = resolve(folder);
  const path = join(root, "package.json");
  if (!existsSync(path)) throw new BenchError(`${root} isn't a checkout of this project: no package.json.`);
  const { start } = Package.parse(JSON.parse(readFileSync(path, "utf8"))).scripts;
  const words = start.split(/\s+/).filter((word) => word !== "exec" && word !== "");
  const env: Record<string, string> = {};
  for (let word = words[0]; word !== undefined && word.includes("="); word = words[0]) {
    const [name = "", value = ""] = word.split("=");
    // A path in it is relative to the checkout, where npm runs the script.
    env[name] = value.includes("/") ? resolve(root, value) : value;
    words.shift();
  }
  if (words[0] !== "node") throw new BenchError(`npm start isn't a call of node in ${root}: ${start}`);
  const nodeArgs = words.slice(1).map((word) => (existsSync(join(root, word)) ? join(root, word) : word));
  return { name, root, nodeArgs, env };
}

/**
 * Unpacks a commit of this repository under `dir`, with the installed packages of the present one.
 * Changes nothing in the repository. Returns null if the commit isn't there, as in a shallow clone.
 */
export function checkOut(commit: string, dir: string): Checkout | null {
  try {
    git("cat-file", "-e", `${commit}^{commit}`);
  } catch {
    return null;
  }
  const root = join(dir, `checkout-${commit.replaceAll(/\W/g, "-")}`);
  mkdirSync(root);
  execFileSync("tar", ["-x", "-C", root], {
    input: git("archive", "--format=tar", commit),
    timeout: GIT_TIMEOUT_MS,
  });
  symlinkSync(join(OWN_ROOT, "node_modules"), join(root, "node_modules"));
  return openCheckout(root, commit);
}

function git(...args: string[]): Buffer {
  return execFileSync("git", ["-C", OWN_ROOT, ...args], {
    stdio: ["ignore", "pipe", "ignore"],
    timeout: GIT_TIMEOUT_MS,
    maxBuffer: ARCHIVE_MAX_BYTES,
  });
}
