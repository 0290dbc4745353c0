import { serviceSchema } from "../../src/service/jobs/state-file.ts";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { loadServiceConfig } from "../../src/service/config/config.ts";
import { startJobService } from "../../src/service/serve.ts";
import { advanceUntilSettled } from "../support/advance-until-settled.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { ScriptedRunner } from "../support/scripted-runner.ts";
import { ServiceFolder } from "../support/service-process.ts";

/** Starts servers on one folder. `second` is the second one's start, which waits for the first to end. */
async function openTwo() {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await ServiceFolder.open({ docs: ["true"] }));
  const config = loadServiceConfig(folder.dir.file("service.yml"), null);
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const nothing = async () => {};
  const runner = {
    run: new ScriptedRunner().runTurn,
    upkeep: nothing,
    readDiff: async () => null,
    closePull: async () => "closed" as const,
    open: nothing,
    isOpen: true,
    close: nothing,
  };
  const first = stack.use(await startJobService({ config, runner, clock, logger, env: {} }));
  const second = startJobService({ config, runner, clock, logger, env: {} });
  // Handled below; it may be rejected before.
  second.catch(() => {});
  return { first, second, clock, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

it("does not serve beside another server", async () => {
  await using two = await openTwo();
  await expect(advanceUntilSettled(two.clock, two.second, 1_000)).rejects.toThrow(
    /Another job service is using .* Stop it or change dataDir\./,
  );
});

it("serves once the server before it has ended, as in a restart", async () => {
  await using two = await openTwo();
  two.clock.advance(1_000);
  await two.first.stop(0);
  await using second = await advanceUntilSettled(two.clock, two.second, 100);
  expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
});

it("says that the state is an earlier build's, and leaves it as it is", async () => {
  await using folder = await ServiceFolder.open({ docs: ["true"] });
  mkdirSync(folder.dir.file("data"));
  const path = folder.dir.file("data/job-service.sqlite");
  using db = new DatabaseSync(path);
  // "DcAg".
  db.exec("CREATE TABLE turns (nth INTEGER); PRAGMA application_id = 1147355495; PRAGMA user_version = 99");
  for (const args of [[], ["keys", "list"]]) {
    expect(await folder.run(...args)).toMatchObject({
      code: 1,
      stderr: `The store ${path} is unavailable: the file has schema version 99, and this version of docs-agent knows ${serviceSchema.length}. A newer version wrote it, or an earlier build whose files aren't read any more. Run the version that wrote it, or move the file away to start empty.\n`,
    });
  }
  expect(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 1 });
});

it("says what to do if the Slack app serves its metrics at the address of the variable", async () => {
  await using folder = await ServiceFolder.open({ docs: ["true"] });
  await using taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const path = folder.dir.file("service.yml");
  const config = loadServiceConfig(path, { METRICS_ADDRESS: `127.0.0.1:${port}` });
  const nothing = async () => {};
  const runner = {
    run: new ScriptedRunner().runTurn,
    upkeep: nothing,
    readDiff: async () => null,
    closePull: async () => "closed" as const,
    open: nothing,
    close: nothing,
    isOpen: true,
  };
  const starting = startJobService({
    config,
    runner,
    clock: new ManualClock(),
    logger: new RecordingLogger(),
    env: {},
  });
  await expect(starting).rejects.toThrow(
    `Cannot listen on 127.0.0.1 port ${port} (EADDRINUSE). Put a free port into the settings under metrics.address.`,
  );
});
