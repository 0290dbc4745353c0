import { expect, it } from "vitest";
import { loadServiceConfig } from "../../src/service/config.ts";
import { startJobService } from "../../src/service/serve.ts";
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

/** Resolves once somebody waits for the clock to be moved, which is then moved. */
async function moved(clock: ManualClock, byMs: number): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  clock.advance(byMs);
}

it("does not serve beside another server", async () => {
  await using two = await openTwo();
  let isRefused = false;
  const refused = two.second.then(
    () => "served",
    (thrown: unknown) => ((isRefused = true), String(thrown)),
  );
  while (!isRefused) await moved(two.clock, 1_000);
  expect(await refused).toMatch(/Another job service runs on .*dataDir/);
});

it("serves once the server before it has ended, as in a restart", async () => {
  await using two = await openTwo();
  await moved(two.clock, 1_000);
  await two.first.stop(0);
  let isServing = false;
  const serving = two.second.finally(() => (isServing = true));
  while (!isServing) await moved(two.clock, 100);
  await using second = await serving;
  expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
});
