import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../../support/package.ts";
import { RunnerPlace } from "../../support/runner-program.ts";
import { type ElsewhereWorld, openElsewhere } from "../../support/runners-elsewhere.ts";

const page = readFileSync(join(ROOT, "docs", "runners.md"), "utf8");
/** The commands of the page, in its order. */
const COMMANDS = [...page.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].flatMap(([, , block = ""]) =>
  block
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== ""),
);
const ofNpm = COMMANDS.filter((command) => command.startsWith("npm run "));
const run = promisify(execFile);

/** Has `npm run` in this folder start this copy's programs. */
function writeScripts(folder: string): void {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const here = ["service", "runner"].map((name) => [
    name,
    (scripts[name] ?? "").replace("exec node", `exec ${process.execPath}`).replace(" src/", ` ${ROOT}/src/`),
  ]);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ scripts: Object.fromEntries(here) }));
}

/** Serves for a moment, so that the settings have a port. */
async function startedOnce(world: ElsewhereWorld) {
  const service = await world.serve();
  const { url } = service;
  service.signal("SIGTERM");
  return { url, code: await service.exit() };
}

it("the page has the commands that are tried here, and otherwise only those that need another machine", () => {
  const others = COMMANDS.filter((command) => !ofNpm.includes(command));
  expect([...new Set(others.map((command) => command.split(" ", 1)[0]))]).toEqual([
    "install",
    "cp",
    "systemctl",
    "docker",
    "kubectl",
  ]);
  const files = others.flatMap((command) => /(?:^| )\S*(deploy\/\S+)/.exec(command)?.[1] ?? []);
  expect(files).toHaveLength(2);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  expect(ofNpm.length).toBeGreaterThan(5);
});

it("the page's commands do what it says", { timeout: 240_000 }, async () => {
  await using world = await openElsewhere();
  const { folder } = world;
  // It prints its own address, which is known once it has a port.
  const { url, code } = await startedOnce(world);
  expect(code).toBe(0);
  folder.change({ publicBaseUrl: url });
  await world.serve();
  writeScripts(folder.dir.path);
  await using place = await RunnerPlace.open("", { RUNNER_CONTAINMENT: "none" });
  writeScripts(place.dir.path);
  const inFolder = async (cwd: string, command: string) => {
    const given = cwd === place.dir.path ? place.env : folder.env;
    const env = { PATH: process.env["PATH"], HOME: place.dir.path, ...given };
    return (await run("sh", ["-c", command], { cwd, env })).stdout;
  };
  let runner: ReturnType<RunnerPlace["start"]> | null = null;
  const said: Record<string, string> = {};
  for (const command of ofNpm) {
    if (command === "npm run runner") {
      // What it starts goes on.
      runner = place.start();
      await runner.wrote(/the job service answers this runner/);
    } else if (command.startsWith("npm run runner")) {
      said[command] = await inFolder(place.dir.path, command);
    } else {
      said[command] = await inFolder(folder.dir.path, command);
      const lines = said[command].match(/^RUNNER_.*$/gm) ?? [];
      if (lines.length > 0) writeFileSync(place.dir.file(".env"), `${lines.join("\n")}\n`);
    }
  }
  const [checked = ""] = Object.entries(said).flatMap(([command, text]) =>
    command.includes("--check") ? [text] : [],
  );
  expect(checked).toMatch(/^ok {5}service {2}job service: it takes the token/m);
  expect(checked).toMatch(/^All is well/m);
  const answers = Object.values(said).join("");
  expect(answers).toMatch(/Added runner build-1 for docs\./);
  expect(answers).toMatch(/^build-1 +runner_\w+ +draining /m);
  expect(answers).toMatch(/gets turns again[^]*Removed runner build-1\./);
  runner?.signal("SIGTERM");
  expect(await runner?.exit()).toBe(0);
});

it("the page names each setting of the runner with its default", () => {
  const source = readFileSync(join(ROOT, "src/service/runner/program/program.ts"), "utf8");
  const named = [...source.matchAll(/^ {2}(RUNNER_\w+|LOG_LEVEL) /gm)].map(([, name]) => name);
  expect(named.length).toBe(8);
  expect([...page.matchAll(/^\| `(RUNNER_\w+|LOG_LEVEL)` \|/gm)].map(([, name]) => name)).toEqual(named);
});
