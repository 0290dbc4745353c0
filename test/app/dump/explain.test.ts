// @module-tag redis-server
import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { createStateProgram } from "../../../src/app/dump/program.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { startRedisServer } from "../../support/redis-server.ts";
import { redisPrefix } from "../../support/redis.ts";
import { dumpOf, loadInto } from "../../support/state.ts";
import { ANA, DOCS, World } from "../../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";

type Place = { store: string; clock: World["clock"] };

/** Runs the command. Resolves to what it prints. */
async function explained({ store, clock }: Place, ...args: string[]): Promise<string> {
  let printed = "";
  const output = new Writable({
    write(chunk, _encoding, done) {
      printed += String(chunk);
      done();
    },
  });
  const url = store.startsWith("redis:") ? store : `sqlite://${store}`;
  const program = createStateProgram({
    clock,
    logger: new RecordingLogger(),
    env: { STORE_URL: url },
    input: process.stdin,
    output,
    say: () => {},
    isTerminal: false,
  });
  await program.parseAsync(["explain", ...args], { from: "user" });
  return printed;
}

function linkTo(ts: string, threadTs?: string): string {
  const at = `https://acme.slack.com/archives/${DOCS}/p${ts.replace(".", "")}`;
  return threadTs === undefined ? at : `${at}?thread_ts=${threadTs}&cid=${DOCS}`;
}

it("explains a request, its job, its posts, its tasks and its pull request, while the app runs, and on Redis", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const { slack, service } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix the \u001b[31minstall page" });
  await world.until(() => world.read(DOCS).length === 1 && service.creates.length === 1);
  const jobId = service.creates[0]?.jobId ?? "";
  service.finish(jobId, { status: "completed", prLink: PR });
  service.follow(jobId, { state: "open" });
  await world.until(() => world.read(DOCS).length === 2);
  service.follow(jobId, { state: "merged" });
  await world.until(() => world.read(DOCS).length === 3);
  const [root = "", reply = ""] = slack.messages(DOCS).map(({ ts }) => ts);
  await slack.person(ANA).command({ channel: DOCS, text: "another request" });
  await world.until(() => service.creates.length === 2);
  const place = { store: world.storePath, clock: world.clock };

  const text = await explained(place, linkTo(root));
  const lines = text.split("\n").map((line) => line.replace(/^ {2}\S+ \S+ UTC +/, "").replace(/ +/g, " "));
  expect(lines[0]).toMatch(new RegExp(`^turn command:\\S+, project default, job ${jobId}$`));
  expect(lines).toEqual(
    expect.arrayContaining([
      `request ${ANA} asked in ${DOCS} (command): fix the [31minstall page`,
      expect.stringMatching(new RegExp(`^job ${jobId} is known at http`)),
      `post status is in ${DOCS} as ${root}`,
      `turn It ended as pull-request (watch 1): ${PR}`,
      `post outcome-1 is in ${DOCS} as ${reply}`,
      expect.stringMatching(/^pull request It changed last: merged, review /),
      "pull request merged, told",
    ]),
  );
  expect(text).not.toContain("another request");
  expect(text).not.toContain("\u001b");
  // In the order in which it happened.
  const order = ["asked in", "status is in", "ended as", "outcome-1 is in", "merged, told"];
  const at = order.map((part) => text.indexOf(part));
  expect(at).toEqual(at.toSorted((one, other) => one - other));

  const other = await world.until(() => slack.messages(DOCS)[3]);
  const running = await explained(place, linkTo(other.ts));
  expect(running).toMatch(/ request .* another request\n/);
  expect(running).toMatch(/ task +watch was added\n/);
  expect(running).toMatch(/ task +watch runs then \(attempt 1\)\n/);
  expect(running).toMatch(/ now +turn +It waits at the job service\n/);

  // A reply in the thread is about the same turn, and JSON says the same.
  expect(await explained(place, linkTo(reply, root))).toBe(text);
  const { turns } = JSON.parse(await explained(place, linkTo(root), "--json")) as { turns: object[] };
  expect(turns).toMatchObject([{ job: jobId, events: expect.arrayContaining([]) as unknown }]);

  const wrong = "https://acme.slack.com/archives/C0DOCS";
  await expect(explained(place, wrong)).rejects.toThrow(/That isn't a link to a message/);
  await expect(explained(place, linkTo("1700000000.000001"))).rejects.toThrow(
    /Nothing in sqlite:.* is about/,
  );

  await world.stopApp();
  await using server = await startRedisServer();
  const redis = { store: redisPrefix(server.url).url, clock: world.clock };
  await loadInto(redis, await dumpOf(place));
  expect(await explained(redis, linkTo(root))).toBe(await explained(place, linkTo(root)));
});
