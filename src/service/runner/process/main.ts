import { join } from "node:path";
import { format } from "node:util";
import { Agent } from "undici";
import type { z } from "zod";
import { messageOf } from "../../../shared/errors.ts";
import { createDispatcher, fetchThrough, isOfPausedParser } from "../../../shared/machine/dispatcher.ts";
import { createLogger, createSystemClock } from "../../../shared/machine/clock-and-log.ts";
import { packageVersion } from "../../../shared/machine/command-line.ts";
import { oneLine } from "../../base/printable-text.ts";
import { learnedSecrets, learnSecret } from "../../base/redaction.ts";
import { projectSecrets, serviceProxy } from "../../config/env.ts";
import { ReaderProcesses } from "./apart/apart.ts";
import { LocalRunner } from "../local/local-runner.ts";
import { closeInheritedFiles } from "./inherited-files.ts";
import type { FromRunner, RunnerSettings, ToRunner } from "./messages.ts";
import { FittingProjects } from "../link/fitting-projects.ts";
import { ServiceLink } from "../link/service-link.ts";
import { WorkLoop } from "../link/work-loop.ts";
import { machineOf } from "./machine.ts";
import { ThreadNote } from "../link/thread-note.ts";

/** The time that agents have to end after the service has ended. */
const END_WITHIN_MS = 8_000;
/** The most lines of the protocol client on the console that are logged. */
const MAX_ODDITIES = 100;

let loop: WorkLoop | null = null;

/** If this can't be sent, the service has ended, and so does this process. */
function tell(message: z.infer<typeof FromRunner>): void {
  if (process.connected) process.send?.(message, undefined, {}, () => {});
}

async function open(settings: RunnerSettings): Promise<void> {
  const { env } = process;
  const { dataDir, containment, logLevel, projects, source, places, labels } = settings;
  learnSecret(source.token);
  const logger = await createLogger({
    level: logLevel,
    secrets: projects.flatMap((project) => projectSecrets(project, env)),
    laterSecrets: learnedSecrets,
    pretty: process.stdout.isTTY,
  });
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => {
      if (isOfPausedParser(thrown)) {
        return logger.warn({ err: thrown }, "a server's connection ended while its answer was read slowly");
      }
      logger.error({ err: thrown }, "unforeseen error in the runner: its turns run again");
      process.exit(1);
    });
  }
  let oddities = 0;
  // The ACP SDK writes protocol errors to the console. They may contain names and ids that the
  // agent chose, so they are limited, and redacted like all lines.
  console.error = (...parts: unknown[]) => {
    oddities += 1;
    if (oddities > MAX_ODDITIES) return;
    logger.warn({ detail: oneLine(format(...parts), 500) }, "protocol oddity of an agent");
  };
  // The runner fetches from the code host.
  fetchThrough(serviceProxy(env));
  const clock = createSystemClock();
  const readers = new ReaderProcesses();
  const runner = new LocalRunner({ dataDir, containment, env, clock, logger, readers, isOwnProcess: true });
  await runner.open();
  const link = new ServiceLink({
    ...source,
    dispatcher:
      source.socketPath === null
        ? createDispatcher(serviceProxy(env))
        : new Agent({ connect: { socketPath: source.socketPath } }),
    signal: ending.signal,
  });
  const isElsewhere = source.socketPath === null;
  const fitting = new FittingProjects({ link, env, clock, logger });
  loop = new WorkLoop({
    link,
    runner,
    thread: new ThreadNote(dataDir),
    clock,
    logger,
    self: { version: packageVersion(), machine: await machineOf(dataDir), places, labels },
    projects: isElsewhere ? () => fitting.ids() : async () => null,
    attachments: join(dataDir, "fetched"),
    env,
    isElsewhere,
  });
  await loop.open();
  void loop.run();
}

const ending = new AbortController();

// Both sides have the same version, because one starts the other.
process.on("message", (message: ToRunner) => {
  if (message.kind === "ping") return tell({ kind: "pong" });
  if (message.kind === "drain") return void loop?.drain().then(() => tell({ kind: "drained" }));
  void open(message.settings).then(
    () => tell({ kind: "opened" }),
    (error: unknown) => tell({ kind: "unopened", problem: messageOf(error) }),
  );
});
// Whoever stops the service may signal all its processes, but the service decides when to stop what
// runs here.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
// The service has ended, for whatever reason.
process.on("disconnect", () => {
  setTimeout(() => process.exit(), END_WITHIN_MS);
  void Promise.resolve(loop?.end()).then(() => {
    ending.abort(new Error("The runner ends"));
    process.exit();
  });
});
closeInheritedFiles();
