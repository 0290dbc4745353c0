import { expect, vi } from "vitest";
import type { SlackMessage, SlackSide } from "../../world/slack/index.ts";
import { AppProcess } from "./app-process.ts";
import {
  type JobServiceSide,
  type JobServiceSideOptions,
  startJobServiceSide,
} from "../../world/job-service/side.ts";
import { startRedisServer } from "./redis-server.ts";
import { DOCS, environment, startSlackSide, type WorldOptions } from "./world.ts";

/**
 * The pull request of every job in these tests:
 * `service.script.completeAfterPolls(2, { prLink: PR })`.
 */
export const PR = "https://github.com/acme/docs/pull/7";

/**
 * Returns the outcomes in #docs, each a reply with {@link PR}. The status message of a mention is a
 * reply that links it too, and isn't included.
 */
export function outcomesIn(slack: SlackSide): SlackMessage[] {
  return slack
    .messages(DOCS)
    .filter(({ metadata }) => String(metadata?.event_payload["post"]).startsWith("outcome-"))
    .filter((message) => message.thread_ts !== undefined && slack.visibleText(message).includes(PR));
}

/** Expects one job, one status message and one outcome for each of `count` requests. */
export function expectOnce(slack: SlackSide, service: JobServiceSide, count: number): void {
  const prompts = service.creates.map(({ prompt }) => prompt);
  expect(new Set(prompts).size).toBe(count);
  expect(prompts).toHaveLength(count);
  const outcomes = outcomesIn(slack);
  expect(new Set(outcomes.map(({ thread_ts: ts }) => ts)).size).toBe(count);
  expect(outcomes).toHaveLength(count);
  const roots = slack.messages(DOCS).filter((message) => message.thread_ts === undefined);
  expect(roots).toHaveLength(count);
}

/** Resolves when the replica can take and keep requests. */
export async function isReady(url: string): Promise<void> {
  await vi.waitFor(
    async () => expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: "ok" }),
    {
      timeout: 20_000,
      interval: 100,
    },
  );
}

/**
 * Starts a Slack, a job service and a Redis for one test. `open` starts a replica between them.
 * `resources` ends all of it. `world` is as for {@link environment}, and `offers` is what the job
 * service offers.
 */
export async function startSides(
  redisSettings: Record<string, string> = {},
  world: WorldOptions = {},
  offers: JobServiceSideOptions = { idempotencyKeys: true },
) {
  const resources = new AsyncDisposableStack();
  const redis = resources.use(await startRedisServer(redisSettings));
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide(offers));
  const env = {
    ...environment(slack, service, world),
    STORE_URL: redis.url,
    POLL_MIN_MS: "200",
    POLL_MAX_MS: "500",
    DOCS_AGENT_IDEMPOTENCY_KEYS: "true",
  };
  const open = (overrides: Record<string, string> = {}, options: { preload?: string } = {}) =>
    resources.use(new AppProcess({ env: { ...env, ...overrides }, ...options }));
  return { resources, redis, slack, service, open };
}
