import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { AGENT_PRESETS } from "../../src/service/config/agent-presets.ts";
import type { RealAgent } from "./agents.ts";

const run = promisify(execFile);
const TIME_LIMIT_MS = 5 * 60_000;
const Package = z.object({ version: z.string() });

/** An agent that is ready to run. */
export type InstalledAgent = {
  /** The folder with the agent's program. */
  bin: string;
  /** Names and versions of the installed packages. */
  versions: string;
};

/**
 * Installs an agent from the package registry into a folder of its own. An agent that is already
 * there stays.
 */
export async function installAgent(agent: RealAgent, root: string): Promise<InstalledAgent> {
  const { npmPackage } = AGENT_PRESETS[agent.preset];
  const folder = join(root, agent.preset);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", `${npmPackage}@${agent.version}`];
  await run("npm", args, { cwd: folder, timeout: TIME_LIMIT_MS, killSignal: "SIGKILL" });
  const packages = [npmPackage, ...(agent.brings === null ? [] : [agent.brings])];
  const versions = await Promise.all(
    packages.map(async (name) => {
      const file = join(folder, "node_modules", name, "package.json");
      return `${name} ${Package.parse(JSON.parse(await readFile(file, "utf8"))).version}`;
    }),
  );
  return { bin: join(folder, "node_modules/.bin"), versions: versions.join(", ") };
}
