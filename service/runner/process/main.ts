import { messageOf } from "../../../src/core/errors.ts";
import { createLogger } from "../../../src/process/logger.ts";
import { fetchThrough } from "../../../src/process/proxy.ts";
import { createSystemClock } from "../../../src/process/system-clock.ts";
import { oneLine } from "../../base/printable-text.ts";
import { learnedSecrets } from "../../base/redaction.ts";
import { projectSecrets, serviceProxy } from "../../config/env.ts";
import { createTurnRunner } from "../create-turn-runner.ts";
import { closeInheritedFiles } from "./inherited-files.ts";
import type { FromRunner, RunnerSettings, ToRunner } from "./messages.ts";
import { RunnerHost } from "./runner-host.ts";

/** Time for agents to end once the service has. */
const END_WITHIN_MS = 8_000;
/** Agents' words that the protocol's client puts on the console. */
const MAX_ODDITIES = 100;

let host: RunnerHost | null = null;

/** One that can't be told has ended, and so does this process. */
function tell(message: FromRunner): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, {}, () => resolve());
    else resolve();
  });
}

async function open(settings: RunnerSettings): Promise<void> {
  const { env } = process;
  const { dataDir, containment, logLevel, projects } = settings;
  const logger = await createLogger({
    level: logLevel,
    secrets: projects.flatMap((project) => projectSecrets(project, env)),
    laterSecrets: learnedSecrets,
    pretty: process.stdout.isTTY,
  });
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => {
      logger.error({ err: thrown }, "unforeseen error in the runner: its turns run again");
      process.exit(1);
    });
  }
  let oddities = 0;
  // The ACP SDK reports protocol oddities on the console, with an agent's own words in them:
  // bounded, and redacted as all lines are.
  console.error = (...parts: unknown[]) => {
    oddities += 1;
    if (oddities > MAX_ODDITIES) return;
    logger.warn({ detail: oneLine(parts.map(String).join(" "), 500) }, "protocol oddity of an agent");
  };
  // The code host is fetched from.
  fetchThrough(serviceProxy(env));
  const clock = createSystemClock();
  const runner = createTurnRunner({ dataDir, containment, env, clock, logger, isOwnProcess: true });
  await runner.open();
  host = new RunnerHost(runner, settings, tell);
}

// Both sides are of one version: the one starts the other.
process.on("message", (order: ToRunner) => {
  if (order.kind === "ping") return void tell({ kind: "pong" });
  if (order.kind !== "open") return host?.take(order);
  void open(order.settings).then(
    () => tell({ kind: "opened" }),
    (error: unknown) => tell({ kind: "unopened", problem: messageOf(error) }),
  );
});
// Whoever stops the service may signal all its processes: what runs now is the service's to stop.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
// The service has ended, however that was.
process.on("disconnect", () => {
  setTimeout(() => process.exit(), END_WITHIN_MS);
  void Promise.resolve(host?.end()).then(() => process.exit());
});
closeInheritedFiles();
