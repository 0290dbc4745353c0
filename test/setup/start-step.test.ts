import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import type { DoctorFinding } from "../../src/service/cli/finding.ts";
import type { Programs } from "../../src/setup/programs.ts";
import { Session } from "../../src/setup/session.ts";
import { SetupState } from "../../src/setup/setup-state.ts";
import { startStep } from "../../src/setup/steps/start-step.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { listenWith } from "../../src/shared/machine/listen.ts";
import { openTempDir, type TempDir } from "../support/temp-dir.ts";

/** Programs that don't start. */
const PROGRAMS = {
  stop: async () => {},
  isRunning: () => false,
  start: async () => ({ isReady: false, said: "enough for this test", log: "" }),
} as unknown as Programs;

function openSession(dir: TempDir): Session {
  const folder = dir.file(".");
  const options = { folder, codeHostUrl: "https://api.github.com", modelUrl: undefined } as const;
  return new Session({
    ...options,
    containment: "none",
    env: {},
    clock: createSystemClock(),
    version: "0.1.0",
  });
}

/** A folder with all answers, and settings that an earlier setup has written. */
async function openWritten(env: string): Promise<TempDir> {
  const dir = await openTempDir();
  const repository = { address: "https://github.com/acme/docs", owner: "acme", repo: "docs" };
  const state: SetupState = {
    ...SetupState.parse({ version: 1, hasKey: true, ownsEnv: true, isWritten: true }),
    slack: { bot: "docs-agent" },
    repository: { ...repository, baseBranch: "main", checks: [], access: { kind: "token" } },
    agent: { preset: "opencode", kind: "anthropic" },
  };
  writeFileSync(dir.file(".docs-agent-setup.json"), JSON.stringify(state));
  writeFileSync(dir.file(".env"), env);
  return dir;
}

async function take(dir: TempDir): Promise<DoctorFinding[]> {
  const found: DoctorFinding[] = [];
  for await (const finding of startStep(PROGRAMS).take({}, openSession(dir))) found.push(finding);
  return found;
}

async function takePort(): Promise<AsyncDisposable & { port: string }> {
  const where = { host: "127.0.0.1", port: 0, remedy: "", graceMs: 0 };
  const listening = await listenWith(() => createServer(), where);
  const { port } = new URL(listening.url);
  return { port, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

it.each(["service", "app"])(
  "changes nothing while the unit of the %s uses the settings' port",
  async (of) => {
    await using used = await takePort();
    const free = await takePort();
    await free[Symbol.asyncDispose]();
    const [service, app] = of === "service" ? [used.port, free.port] : [free.port, used.port];
    const env = `DOCS_AGENT_BASE_URL=http://127.0.0.1:${service}\nPORT=${app}\nDOCS_AGENT_API_KEY=k\n`;
    await using dir = await openWritten(env);
    expect(await take(dir)).toMatchObject([
      {
        level: "fault",
        found: `Port ${used.port}, which the settings have, is in use.`,
        todo: "If the programs run already, stop them: systemctl stop docs-agent docs-agent-service",
      },
    ]);
    expect(readFileSync(dir.file(".env"), "utf8")).toBe(env);
    expect(existsSync(dir.file("service.yml"))).toBe(false);
  },
);

it("keeps the ports that the settings have", async () => {
  await using one = await takePort();
  await using other = await takePort();
  await Promise.all([one, other].map((each) => each[Symbol.asyncDispose]()));
  const env = `DOCS_AGENT_BASE_URL=http://127.0.0.1:${one.port}\nPORT=${other.port}\nDOCS_AGENT_API_KEY=k\n`;
  await using dir = await openWritten(env);
  expect(await take(dir)).toMatchObject([{ part: "job service", level: "fault" }]);
  expect(readFileSync(dir.file(".env"), "utf8")).toContain(env.trim().split("\n")[1]);
  expect(readFileSync(dir.file("service.yml"), "utf8")).toContain(`port: ${one.port}\n`);
});

it("says which line of .env nobody can have meant, as both programs do", async () => {
  await using dir = await openWritten("SLACK_BOT_TOKEN=xoxb-1\nexport\n");
  expect(() => openSession(dir)).toThrow(/Can't use .*\.env\. Fix it:\n {2}- Line 2 isn't NAME=value/);
});
