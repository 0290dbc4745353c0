import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { buildPackage, linkDependencies, ROOT } from "../support/package.ts";
import { openTempDir } from "../support/temp-dir.ts";

const COMMAND = join(ROOT, "package", "docs-agent-slack.cjs");
const { scripts, version } = z
  .object({ scripts: z.record(z.string(), z.string()), version: z.string() })
  .parse(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")));

/** Runs the command as an older Node.js would: by what it calls itself. */
function runOn(node: string, file: string, ...args: string[]) {
  const code = `Object.defineProperty(process.versions, "node", { value: "${node}" })`;
  const preload = `data:text/javascript,${encodeURIComponent(code)}`;
  return spawnSync(process.execPath, ["--import", preload, file, ...args], { encoding: "utf8" });
}

it("says which Node.js is needed if there is only an older one, and lists its commands", async () => {
  await using dir = await openTempDir();
  const alone = dir.file("docs-agent-slack.cjs");
  cpSync(COMMAND, alone);
  const old = runOn("18.19.0", alone, "doctor");
  expect(old.stderr).toBe(
    "Docs Agent needs Node.js 24 or later. This is 18.19.0.\n" +
      "Install a newer one from https://nodejs.org, and try again.\n",
  );
  expect(old.status).toBe(1);
  const { stdout, status } = runOn("18.19.0", alone, "--help");
  expect(status).toBe(0);
  for (const name of ["playground", "setup", "doctor", "start", "service", "runner", "state", "upgrade"]) {
    expect(stdout).toMatch(new RegExp(`^  ${name} +[a-z].{15}`, "m"));
  }
  expect(runOn("24.0.0", alone, "playgruond")).toMatchObject({
    status: 2,
    stderr: "There is no command playgruond. See docs-agent-slack --help.\n",
  });
});

it("gives each program the flags that npm gives it in a clone", () => {
  const source = readFileSync(COMMAND, "utf8");
  for (const name of ["playground", "setup", "doctor", "start", "service", "runner", "state", "upgrade"]) {
    const [, flags = "", file = ""] = /exec node (.*?)(\S+)\.ts$/.exec(scripts[name] ?? "") ?? [];
    const row = new RegExp(`^  ${name}: \\["${file}", .*, (\\w+|\\[\\])\\],$`, "m").exec(source)?.[1] ?? "";
    const [, list = ""] = new RegExp(`^var ${row} = \\[(.*)\\];$`, "m").exec(source) ?? [];
    expect({ name, flags: list.replaceAll(/["]/g, "").split(", ").join(" ").trim() }).toEqual({
      name,
      flags: flags.trim(),
    });
  }
});

const MINUTES = { timeout: 600_000 };

it(
  "goes from the package to a playground in another folder, with what it depends on alone",
  MINUTES,
  async () => {
    await using dir = await openTempDir();
    const folder = buildPackage(dir);
    const installed = dir.file("elsewhere");
    const home = join(installed, "node_modules", "docs-agent-slack");
    linkDependencies(installed);
    cpSync(folder, home, { recursive: true });
    expect(await playIn(installed, join(home, "dist", "docs-agent-slack.cjs"))).toEqual(PLAYED);
  },
);

it("is what npm packs and installs, without npm's cache", { ...MINUTES, tags: ["all"] }, async () => {
  await using dir = await openTempDir();
  // Another pack in the clone would use the same dist/.
  const clone = dir.file("clone");
  execFileSync("git", ["clone", "--quiet", "--no-hardlinks", ROOT, clone]);
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
  const npm = (cwd: string, ...args: string[]) => execFileSync("npm", args, { cwd, encoding: "utf8" });
  npm(clone, "pack", "--pack-destination", dir.path);
  const installed = dir.file("elsewhere");
  mkdirSync(installed);
  npm(installed, "install", "--prefer-offline", dir.file(`docs-agent-slack-${version}.tgz`));
  expect(await playIn(installed, join(installed, "node_modules", ".bin", "docs-agent-slack"))).toEqual(
    PLAYED,
  );
});

/** What {@link playIn} has to find. */
const PLAYED = {
  version: `${version}\n`,
  help: expect.stringContaining("Usage: docs-agent-slack doctor [options]"),
  page: expect.stringContaining("<title>"),
  script: expect.stringContaining("text/javascript"),
  said: expect.stringContaining("docs-agent-slack playground --fresh starts over."),
  code: 0,
};

/** Starts the playground in a folder, opens its page, and stops it. */
async function playIn(folder: string, command: string) {
  const run = (...args: string[]) => execFileSync(command, args, { cwd: folder, encoding: "utf8" });
  const told = { version: run("--version"), help: run("doctor", "--help") };
  const child = spawn(command, ["playground", "--dir", join(folder, "state"), "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (text: string) => {
      said += text;
      const [, opened] = /Open +(http:\S+)/.exec(said) ?? [];
      if (opened !== undefined) resolve(opened);
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    void ended.then(() => reject(new Error(said)));
  });
  const page = await (await fetch(url)).text();
  const script = (await fetch(new URL("assets/main.ts", url))).headers.get("content-type");
  child.kill("SIGTERM");
  await ended;
  return { ...told, page, script, said, code: child.exitCode };
}
