import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppProcess } from "../../test/support/app-process.ts";
import { type JobServiceSideOptions, startJobServiceSide } from "../../world/job-service/side.ts";
import { ANA, DOCS, environment, startSlackSide } from "../../test/support/world.ts";
import type { Scenario } from "../scenario.ts";
import { quantile } from "../table.ts";

const JOBS = 12;
/** Jobs end one after the other, so that Slack's limits allow each outcome at once. */
const FIRST_END_MS = 20_000;
const ENDS_EVERY_MS = 2_500;
const STEP_EVERY_MS = 5_000;

type Heard = { pollsPerJob: number; lagsMs: number[]; told: number };

/**
 * Measures how soon a known outcome is posted, and how often jobs are polled, with a feed and
 * without. Two programs of this repository run at the same time.
 */
export const feed: Scenario = {
  name: "feed",
  summary: `polls per job, and known → posted, of ${JOBS} real jobs with a feed, against polling`,
  async run({ dir, progress }) {
    progress(`${JOBS} jobs with a feed, ${JOBS} without`);
    const [told, polled] = await Promise.all([
      watch(join(dir, "told.sqlite"), { level: 1, changes: "held" }),
      watch(join(dir, "polled.sqlite"), { level: 1 }),
    ]);
    const mean = ({ lagsMs }: Heard) => lagsMs.reduce((sum, ms) => sum + ms, 0) / lagsMs.length / 1000;
    const p95 = ({ lagsMs }: Heard) => quantile(lagsMs, 0.95) / 1000;
    const sidesOf = (pick: (heard: Heard) => number) => ({
      measured: { name: "feed", values: [pick(told)] },
      against: { name: "polling", values: [pick(polled)] },
    });
    return [
      { what: "polls", unit: "per job", ...sidesOf(({ pollsPerJob }) => pollsPerJob), reach: "≤ 2" },
      { what: "known → posted, mean", unit: "s", ...sidesOf(mean), reach: "≤ 1" },
      { what: "known → posted, p95", unit: "s", ...sidesOf(p95) },
      { what: "requests of the feed", unit: "per job", measured: { name: "feed", values: [told.told] } },
    ];
  },
};

async function watch(store: string, offers: JobServiceSideOptions): Promise<Heard> {
  await using slack = await startSlackSide();
  await using service = await startJobServiceSide(offers);
  const env = {
    ...environment(slack, service),
    STORE_URL: `sqlite://${store}`,
    JOB_SERVICE_TIMEOUT_MS: "15000",
  };
  await using app = new AppProcess({ env });
  slack.setAppUrl(`${await app.ready()}/slack/events`);
  for (let n = 0; n < JOBS; n += 1) {
    await slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` });
  }
  const began = performance.now();
  while (service.creates.length < JOBS) await sleep(20);
  const endedAt = new Map<string, number>();
  const postedAt = new Map<string, number>();
  let stepAt = 0;
  const ids = service.creates.map(({ jobId }) => jobId);
  while (postedAt.size < JOBS && performance.now() - began < 300_000) {
    const nowMs = performance.now();
    for (const [n, id] of ids.entries()) {
      if (endedAt.has(id) || nowMs - began < FIRST_END_MS + n * ENDS_EVERY_MS) continue;
      service.finish(id, { status: "completed", prLink: `https://github.com/acme/docs/pull/${n + 1}` });
      endedAt.set(id, nowMs);
    }
    if (nowMs - stepAt > STEP_EVERY_MS) {
      stepAt = nowMs;
      for (const id of ids) if (!endedAt.has(id)) service.tell(id, { step: `step at ${Math.round(nowMs)}` });
    }
    const posts = slack.messages(DOCS).filter(({ metadata }) => isOutcome(metadata?.event_payload["post"]));
    for (const post of posts) {
      const text = slack.visibleText(post) + JSON.stringify(post);
      const n = Number(/pull\/(\d+)/.exec(text)?.[1]) - 1;
      const id = ids[n];
      if (id !== undefined && !postedAt.has(id)) postedAt.set(id, performance.now());
    }
    await sleep(10);
  }
  const lagsMs = ids.map((id) => (postedAt.get(id) ?? Infinity) - (endedAt.get(id) ?? 0));
  const count = (op: string) => service.calls.filter((call) => call.op === op).length / JOBS;
  return { pollsPerJob: count("get"), lagsMs, told: count("changes") };
}

function isOutcome(post: unknown): boolean {
  return String(post).startsWith("outcome");
}
