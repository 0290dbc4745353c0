import { expect, it } from "vitest";
import { loadServiceConfig } from "../../src/service/config.ts";
import { startJobService } from "../../src/service/serve.ts";
import { advanceUntilSettled } from "../support/advance-until-settled.ts";
import { ManualClock } from "../support/manual-clock.ts";
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
  const { runTurn } = new ScriptedRunner();
  const first = stack.use(await startJobService({ config, runTurn, clock, logger }));
  const second = startJobService({ config, runTurn, clock, logger });
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
