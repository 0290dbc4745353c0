import { createServer } from "node:http";
import type { DoctorFinding } from "../../service/cli/finding.ts";
import { examine } from "../../doctor/doctor.ts";
import { doCommand } from "../../service/commands/command-socket.ts";
import { loadServiceConfig } from "../../service/config/config.ts";
import { envValue } from "../../service/config/env.ts";
import { listenWith } from "../../shared/machine/listen.ts";
import type { Programs } from "../programs.ts";
import { SETUP_PROJECT, serviceSettings, settingsText } from "../service-settings.ts";
import type { Session } from "../session.ts";
import { SettingsFile } from "../settings-files.ts";
import { entryFault, passOn, type SetupStep } from "./step.ts";

const SERVICE_PORT = 4000;
const APP_PORT = 3000;
const KEY_ENV = "DOCS_AGENT_API_KEY";

/** Writes both settings files, makes the admin key, runs the doctor, and starts both programs. */
export function startStep(programs: Programs): SetupStep {
  return {
    id: "start",
    title: "Check and start",
    button: "Write, check and start",
    isDone: () => programs.isRunning("app"),
    words: async (session) => [
      {
        text:
          `This writes ${session.file("service.yml")} and ${session.file(".env")}. What is there already ` +
          "is copied beside it first. Then the doctor tries everything, and both programs start.",
      },
    ],
    fields: () => [],
    async *take(_values, session) {
      const { repository, agent, slack } = session.state;
      if (repository === undefined || agent === undefined || slack === undefined) {
        return yield entryFault("Earlier steps", "Not all of them are done.", "Go back to them.");
      }
      // Both programs may run already, and would keep their ports.
      await programs.stop();
      const kept = portsBefore(session);
      const taken = await takenOf(Object.values(kept));
      if (taken !== undefined) {
        return yield entryFault(
          "Ports",
          `Port ${taken}, which the settings have, is in use.`,
          "If the programs run already, stop them: systemctl stop docs-agent docs-agent-service",
        );
      }
      const port = kept.service ?? (await freePort(SERVICE_PORT));
      const settings = serviceSettings({ repository, agent }, session, port);
      const file = new SettingsFile(session.file("service.yml"), () => session.clock.wallMs());
      file.replace(settingsText(settings, session.clock.wallMs()));
      const appPort = kept.app ?? (await freePort(APP_PORT));
      session.keepVariables({
        DOCS_AGENT_BASE_URL: `http://127.0.0.1:${port}`,
        DOCS_AGENT_PROJECT_ID: SETUP_PROJECT,
        // They would count more than the one project.
        DOCS_AGENT_PROJECTS: undefined,
        ...(appPort !== APP_PORT && { PORT: String(appPort) }),
      });
      session.keep({ isWritten: true });
      yield* withKey(session);
      if (!(yield* passOn([await startOf("service", programs)]))) return;
      const doctor = examine({
        configPath: file.path,
        callModel: false,
        skipChecks: false,
        env: session.env(),
        clock: session.clock,
        version: session.version,
        onProgress() {},
      });
      if (!(yield* passOn(doctor))) return;
      yield await startOf("app", programs);
    },
  };
}

/** Makes an admin key for the app, unless it has one. Nobody sees it. */
async function* withKey(session: Session): AsyncGenerator<DoctorFinding> {
  const about = { of: "service", part: "new admin key", tried: "made one, and put it into .env" };
  if (session.state.hasKey && envValue(session.env(), KEY_ENV) !== null) return;
  const config = loadServiceConfig(session.file("service.yml"), null);
  const { text } = await doCommand(config, session.clock, { name: "create-key", project: SETUP_PROJECT });
  session.keepVariables({ [KEY_ENV]: text.trim() });
  session.keep({ hasKey: true });
  yield { ...about, level: "ok", found: "the app has one", todo: null };
}

async function startOf(name: "service" | "app", programs: Programs): Promise<DoctorFinding> {
  const { isReady, said, log } = await programs.start(name);
  const part = name === "app" ? "Slack app" : "job service";
  const about = { of: name, part, tried: `started it, with its log in ${log}` };
  if (isReady) return { ...about, level: "ok", found: "it is ready", todo: null };
  return { ...about, level: "fault", found: `It ended: ${said}`, todo: `See ${log}, and try again.` };
}

/** The ports that the settings have, which programs may use that somebody else starts. */
function portsBefore(session: Session): { service?: number; app?: number } {
  const env = session.env();
  const { isWritten } = session.state;
  const url = URL.parse(envValue(env, "DOCS_AGENT_BASE_URL") ?? "");
  const service = url?.hostname === "127.0.0.1" ? Number(url.port) : 0;
  const app = Number(envValue(env, "PORT") ?? 0);
  return {
    ...((service > 0 || isWritten) && { service: service || SERVICE_PORT }),
    ...((app > 0 || isWritten) && { app: app || APP_PORT }),
  };
}

async function takenOf(ports: readonly number[]): Promise<number | undefined> {
  for (const port of ports) if ((await listenOn(port)) === null) return port;
  return undefined;
}

/** The port if it is free, else another. */
async function freePort(wanted: number): Promise<number> {
  return (await listenOn(wanted)) ?? (await listenOn(0)) ?? wanted;
}

/** Listens for a moment. Null if another program listens there. */
async function listenOn(port: number): Promise<number | null> {
  try {
    const where = { host: "127.0.0.1", port, remedy: "", graceMs: 0 };
    await using listening = await listenWith(() => createServer(), where);
    return Number(new URL(listening.url).port);
  } catch {
    return null;
  }
}
