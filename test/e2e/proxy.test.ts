import { describe, expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { ConnectProxy } from "../../world/faults/connect-proxy.ts";
import { startJobServiceSide } from "../../world/job-service/side.ts";
import { ANA, DOCS, environment, startSlackSide } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const LOGIN = "ana:secret-of-the-proxy";

async function startBehindProxy(options: { socketMode: boolean; none?: (service: string) => string }) {
  const resources = new AsyncDisposableStack();
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide());
  const proxy = resources.use(await ConnectProxy.start({ login: LOGIN }));
  service.script.completeAfterPolls(1, { prLink: PR });
  const serviceHost = new URL(service.baseUrl).host;
  const env = {
    ...environment(slack, service, options),
    STORE_URL: "memory://",
    POLL_MIN_MS: "50",
    HTTP_PROXY: proxy.url.replace("//", `//${LOGIN}@`),
    NO_PROXY: options.none?.(serviceHost),
  };
  const app = resources.use(new AppProcess({ env }));
  const url = await app.ready();
  if (!options.socketMode) slack.setAppUrl(`${url}/slack/events`);
  return { resources, slack, service, proxy, app, slackHost: new URL(slack.apiUrl).host, serviceHost };
}

describe.concurrent("behind a proxy", () => {
  it.each([
    ["over HTTP", false],
    ["in Socket Mode", true],
  ])("the app reaches Slack and the job service through it, %s", async (_name, socketMode) => {
    const world = await startBehindProxy({ socketMode });
    await using _resources = world.resources;
    const { slack, proxy, app } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await slack.until(() => slack.messages(DOCS).length === 2);
    expect(slack.visibleText(slack.messages(DOCS)[1] ?? never())).toContain("github.com/acme/docs/pull/7");
    // Private answers go to a response URL.
    await slack.person(ANA).command({ channel: DOCS, text: "project=nope fix it" });
    await slack.until(() => slack.ephemerals(ANA).length === 1);
    expect(new Set(proxy.asked)).toEqual(new Set([world.slackHost, world.serviceHost]));
    expect(app.stdout + app.stderr).not.toContain("secret-of-the-proxy");
  });

  it("hosts in NO_PROXY are reached directly", async () => {
    const world = await startBehindProxy({ socketMode: false, none: (service) => `example.com,${service}` });
    await using _resources = world.resources;
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.slack.until(() => world.slack.messages(DOCS).length === 2);
    expect(new Set(world.proxy.asked)).toEqual(new Set([world.slackHost]));
    expect(world.service.creates).toHaveLength(1);
  });
});

function never(): never {
  throw new Error("there is no such message");
}
