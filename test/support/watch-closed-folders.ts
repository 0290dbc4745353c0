// Runs the disk watch beside thousands of folders that it can't read. Writes the reason why it
// ended the turn.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { watchDisk } from "../../src/service/runner/workspace/sandbox/disk-watch.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";

const folder = process.argv[2] ?? "";
const clock = new ManualClock();
using watch = watchDisk(folder, 16, { clock });
const long = join(folder, "a".repeat(200));
mkdirSync(long);
for (let made = 0; made < 4000; made += 1) {
  const closed = join(long, String(made).padStart(200, "b"));
  mkdirSync(closed);
  chmodSync(closed, 0);
}
watch.signal.addEventListener("abort", () => {
  console.log(String(watch.signal.reason));
  process.exit();
});
clock.advance(5_000);
// When it is done with a look, it waits for the next one.
while (clock.nextWakeAt() === undefined) await sleep(10);
writeFileSync(join(folder, "much"), Buffer.alloc(40_000_000, 1));
clock.advance(5_000);
for (;;) await sleep(1000);
