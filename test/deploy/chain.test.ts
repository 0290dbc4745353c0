// @module-tag nightly
// @module-tag redis-server
// @module-tag haproxy
import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { startProxy } from "../support/haproxy.ts";
import { readCompose } from "../support/compose-file.ts";
import { freePort, startRedisServer } from "../support/redis-server.ts";
import { isReady } from "../support/replicas.ts";
import { startServiceWorld } from "../support/service-world.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

const PASSWORD = "s3cret0123456789";

/** `redis-server --a b --c d`, as settings. */
function settingsIn([program, ...words]: readonly string[]): Record<string, string> {
  expect(program).toBe("redis-server");
  const pairs = words.join(" ").split(/ ?--/).slice(1);
  return Object.fromEntries(pairs.map((pair) => pair.split(" ")));
}

/** What compose.yml starts, without Docker: the same programs, settings and proxy, on this machine's ports. */
async function startCompose() {
  const resources = new AsyncDisposableStack();
  const compose = readCompose({ REDIS_PASSWORD: PASSWORD });
  const redis = resources.use(await startRedisServer(settingsIn(compose.services["redis"]?.command ?? [])));
  const world = resources.use(await startServiceWorld());
  const service = resources.use(new AppProcess({ env: world.env, program: world.program }));
  const baseUrl = (await service.ready()) ?? "";
  const slack = resources.use(await startSlackSide());
  const inCompose = compose.services["app-1"]?.environment ?? {};
  const env = {
    ...environment(slack, { baseUrl }),
    ...inCompose,
    STORE_URL: (inCompose["STORE_URL"] ?? "").replace("redis:6379", new URL(redis.url).host),
    DOCS_AGENT_BASE_URL: (inCompose["DOCS_AGENT_BASE_URL"] ?? "").replace("http://service:4000", baseUrl),
    DOCS_AGENT_API_KEY: world.apiKey,
    HOST: "127.0.0.1",
    POLL_MIN_MS: "200",
    POLL_MAX_MS: "500",
  };
  const ports = [await freePort(), await freePort()] as const;
  const start = (n: 0 | 1) => resources.use(new AppProcess({ env: { ...env, PORT: String(ports[n]) } }));
  const proxy = resources.use(await startProxy([`127.0.0.1:${ports[0]}`, `127.0.0.1:${ports[1]}`]));
  slack.setAppUrl(`${proxy.url}/slack/events`);
  return { resources, redis, slack, world, start, proxy };
}

it("what compose.yml starts: every request gets one pull request, also while the replicas are updated one after the other", async () => {
  const { resources, redis, slack, world, start, proxy } = await startCompose();
  await using _ = resources;
  const replicas = [start(0), start(1)];
  const urls = await Promise.all(replicas.map(async (replica) => (await replica.ready()) ?? ""));
  // Redis keeps what it is given, so there is nothing to warn of.
  const readiness = async (): Promise<unknown> => (await fetch(`${urls[0] ?? ""}/readyz`)).json();
  await expect.poll(readiness, { timeout: 20_000 }).toMatchObject({ status: "ok" });
  expect(await readiness()).not.toHaveProperty("risk");

  const ana = slack.person(ANA);
  let asked = 0;
  const ask = async () => {
    asked += 1;
    expect(await ana.command({ channel: DOCS, text: `fix page ${asked}` })).toMatchObject({ status: 200 });
  };
  for (let n = 0; n < 3; n += 1) await ask();
  for (const n of [0, 1] as const) {
    replicas[n]?.signal("SIGTERM");
    let isGone = false;
    const gone = replicas[n]?.exit().then(() => (isGone = true));
    while (!isGone) {
      await ask();
      await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 200))]);
    }
    const next = start(n);
    await next.ready();
    await isReady(urls[n] ?? "");
    replicas[n] = next;
  }

  const outcomes = () =>
    slack.messages(DOCS).filter((message) => /\/acme\/docs\/pull\/\d+/.test(slack.visibleText(message)));
  await slack.until(() => outcomes().length >= asked, 120_000);
  const links = outcomes().map((message) => /pull\/\d+/.exec(slack.visibleText(message))?.[0]);
  expect(new Set(links).size).toBe(asked);
  expect(links).toHaveLength(asked);
  expect(await world.pullRequests()).toBe(asked);

  // Redis is away: no replica is ready, and the person is told all the same.
  process.kill(redis.pid, "SIGSTOP");
  for (const url of urls) {
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status, { timeout: 20_000 }).toBe(503);
  }
  const told = slack.ephemerals(ANA).length;
  expect((await ana.command({ channel: DOCS, text: "fix it now" })).status).toBe(200);
  await slack.until(() => slack.ephemerals(ANA).length > told, 10_000);
  expect(slack.visibleText(slack.ephemerals(ANA).at(-1)!)).toContain("I couldn't save that");
  process.kill(redis.pid, "SIGCONT");
  for (const url of urls) await isReady(url);
  const unsigned = await fetch(`${proxy.url}/slack/events`, { method: "POST", body: "unsigned" });
  expect(unsigned.status).toBe(401);
}, 240_000);
