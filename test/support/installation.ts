import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { vi } from "vitest";
import { buildPackage, packAs, ROOT, withPrograms } from "./package.ts";
import { PATIENT } from "./patient.ts";
import { ServiceFolder } from "./service-process.ts";
import { environment, startSlackSide } from "./world.ts";

const MAIN = join(ROOT, "src", "upgrade", "main.ts");

/** Brings the dependencies of a release, which are those of the clone. */
const NPM = `#!/bin/sh
[ "$1" = ci ] && ln -s ${join(ROOT, "node_modules")} node_modules
`;

/** Runs the programs of the units in their folder, as systemd does. */
const SYSTEMCTL = `#!/bin/sh
cd "$UNITS_FOLDER" || exit 1
runs() { [ -f "units/$1.pid" ] && grep -qs '^State:.[^Z]' "/proc/$(cat "units/$1.pid")/status"; }
case "$1 $2" in
  "is-active "*)
    if runs "$2"; then echo active; elif [ -f "units/$2.pid" ]; then echo failed; else echo inactive; fi ;;
  "start "*)
    runs "$2" && exit 0
    program=start; [ "$2" = docs-agent-service ] && program=service
    setsid node current/dist/docs-agent-slack.cjs $program >> "units/$2.log" 2>&1 < /dev/null &
    echo $! > "units/$2.pid" ;;
  "stop "*)
    runs "$2" && kill "$(cat "units/$2.pid")" && while runs "$2"; do sleep 0.05; done
    rm -f "units/$2.pid" ;;
esac
`;

/** How an upgrade ended: its exit code, or null if it was killed. */
export type UpgradeRun = { code: number | null; said: string };

/** An installation with both programs, which something like systemd runs, and Slack. */
export async function openInstallation() {
  const stack = new AsyncDisposableStack();
  const service = stack.use(await ServiceFolder.open({}));
  const slack = stack.use(await startSlackSide());
  const { dir } = service;
  const folder = dir.file("opt");
  mkdirSync(join(folder, "units"), { recursive: true });
  const port = await freePort();
  const appPort = await freePort();
  slack.setAppUrl(`http://127.0.0.1:${appPort}/slack/events`);
  service.configure({
    listen: { port },
    dataDir: "./opt/data",
    containment: "none",
    stopGraceMinutes: 0,
    projects: [
      {
        id: "docs",
        repository: dir.file("docs-repository"),
        // It ends without a change.
        agent: { kind: "command", command: ["true"] },
        codeHost: { kind: "none" },
      },
    ],
  });
  const key = (await service.run("keys", "create", "--project", "docs")).stdout.trim();
  const settings = readFileSync(dir.file("service.yml"), "utf8").replace("./opt/data", "./data");
  writeFileSync(join(folder, "service.yml"), settings);
  const env = {
    ...environment(slack, { baseUrl: `http://127.0.0.1:${port}` }),
    PORT: String(appPort),
    DOCS_AGENT_PROJECT_ID: "docs",
    DOCS_AGENT_API_KEY: key,
  };
  writeFileSync(
    join(folder, ".env"),
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  );
  const path = withPrograms(dir.file("bin"), { npm: NPM, systemctl: SYSTEMCTL });
  const built = buildPackage(dir);

  async function upgrade(tarball: string, killAt?: string): Promise<UpgradeRun> {
    const preload = new URL("./kill-at-effect.ts", import.meta.url).href;
    const child = spawn(
      process.execPath,
      [
        "--disable-warning=ExperimentalWarning",
        "--import",
        preload,
        MAIN,
        tarball,
        "--folder",
        folder,
        "--yes",
      ],
      {
        env: { PATH: path, UNITS_FOLDER: folder, KILL_AT_EFFECT: killAt },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child, "close");
    return { code: child.exitCode, said };
  }

  async function control(verb: string, unit: string): Promise<string> {
    const child = spawn("systemctl", [verb, unit], {
      env: { PATH: path, UNITS_FOLDER: folder },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child, "close");
    return said.trim();
  }
  stack.defer(async () => {
    for (const unit of ["docs-agent", "docs-agent-service"]) await control("stop", unit);
  });

  const logOf = (unit: string) => {
    const file = join(folder, "units", `${unit}.log`);
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };
  return {
    folder,
    slack,
    upgrade,
    control,
    pack: (version: string, files?: Record<string, string>) => packAs(version, built, files),
    /** The version that `current` names. */
    version: () => /releases\/(.+)-[0-9a-f]{8}$/.exec(readlinkSync(join(folder, "current")))?.[1],
    /** Starts both programs and waits until they are ready. */
    async start(): Promise<void> {
      await control("start", "docs-agent-service");
      await control("start", "docs-agent");
      await vi.waitUntil(() => logOf("docs-agent").includes("docs-agent is ready"), PATIENT);
      await vi.waitUntil(() => logOf("docs-agent-service").includes("job service is ready"), PATIENT);
    },
    /** True if the Slack app takes requests. */
    isReady: async () => (await fetch(`http://127.0.0.1:${appPort}/readyz`).catch(() => null))?.ok === true,
    /** The states of both units. */
    states: async () => [
      await control("is-active", "docs-agent-service"),
      await control("is-active", "docs-agent"),
    ],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}
