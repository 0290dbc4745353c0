// @module-tag nightly
import { expect, it } from "vitest";
import { PR, expectOnce, outcomesIn, startSides } from "../support/replicas.ts";
import { untilTaken } from "../support/taken.ts";
import { ANA, DOCS } from "../support/world.ts";

/** Past a lease (30 s), and past the look for those that are over (every 10 s). */
const PAUSE_MS = 45_000;

it.concurrent("two replicas share the work, and when one is killed the other one ends all of it, each request once", async () => {
  const { resources, slack, service, open } = await startSides();
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const replicas = [open(), open()];
  const urls = await Promise.all(replicas.map((replica) => replica.ready()));
  for (let n = 0; n < 12; n += 1) {
    // The first one dies in the middle of its work.
    if (n === 8) await replicas[0]?.kill();
    slack.setAppUrl(`${urls[n < 8 ? n % 2 : 1] ?? ""}/slack/events`);
    const sent = await slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
    expect(sent.status).toBe(200);
  }
  await slack.until(() => outcomesIn(slack).length >= 12, 150_000);
  expectOnce(slack, service, 12);
  expect(replicas[1]?.hasExited).toBe(false);
}, 180_000);

it.concurrent("a replica that is paused past its lease comes back and does nothing twice", async () => {
  const { resources, slack, service, open } = await startSides();
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const paused = open();
  const url = (await paused.ready()) ?? "";
  await open().ready();
  slack.setAppUrl(`${url}/slack/events`);
  const resumed = Promise.withResolvers<void>();
  let posts = 0;
  slack.onCall(async (phase, { method }) => {
    if (method !== "chat.postMessage" || phase !== "after") return;
    posts += 1;
    // In the middle of a post, with other work under way.
    if (posts !== 2) return;
    paused.signal("SIGSTOP");
    setTimeout(() => {
      paused.signal("SIGCONT");
      resumed.resolve();
    }, PAUSE_MS);
  });
  const command = async (text: string) =>
    untilTaken(slack, await slack.person(ANA).command({ channel: DOCS, text }));
  for (let n = 0; n < 5; n += 1) await command(`fix page ${n}`);
  await slack.until(() => outcomesIn(slack).length >= 5, 120_000);
  await resumed.promise;
  // What it still had to say counts for nothing: another poll of each job would have come by now.
  await command("fix one more");
  await slack.until(() => outcomesIn(slack).length >= 6, 60_000);
  expectOnce(slack, service, 6);
  expect(paused.hasExited).toBe(false);
}, 200_000);
