import { mkdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { TreeThread } from "../../../src/service/runner/tree/tree-thread.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { openTempDir } from "../../support/temp-dir.ts";

it("fails the turn for good only when it is the agent's files that take too long", async () => {
  await using dir = await openTempDir();
  const place = { root: dir.file("tree"), aside: dir.file("aside") };
  for (const folder of Object.values(place)) await mkdir(folder);
  const clock = new ManualClock();

  await using atStart = new TreeThread(place, clock);
  const open = atStart.call("open", { listing: new Uint8Array(), kept: null });
  clock.advance(60_000);
  await expect(open).rejects.toMatchObject({ code: "transient_run" });

  await using atEnd = new TreeThread(place, clock);
  const scan = atEnd.call("scan", { docs: ["**"] });
  clock.advance(60_000);
  await expect(scan).rejects.toMatchObject({ code: "turn_failed" });
});
