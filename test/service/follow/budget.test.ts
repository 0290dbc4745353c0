// @module-tag all

import { expect, it } from "vitest";
import { makeServiceProject } from "../../support/service-project.ts";
import { ServiceUnderTest } from "../../support/service-under-test.ts";
import { openManyPulls } from "../../support/many-pulls.ts";
import { atNight } from "../../support/nightly.ts";

const HOUR = 3_600_000;
const PULLS = 50;
const MOVING = { hasGraphql: true, hasNews: true, baseMovesMs: HOUR / 2, areChecked: true };
const AT_NIGHT = [
  { hasGraphql: true, hasNews: true, repositories: 20, ms: HOUR, calls: 5000 },
  { hasGraphql: false, hasNews: false, repositories: 20, ms: HOUR, calls: 5000 },
  { ...MOVING, repositories: 20, ms: HOUR, calls: 4000 },
];
/** A part of both: as many calls for each pull request, and a time in which they want too many. */
const BY_DAY = [
  { hasGraphql: true, hasNews: true, repositories: 1, ms: HOUR / 2, calls: 125 },
  { ...MOVING, repositories: 1, ms: HOUR / 2, calls: 100 },
  { hasGraphql: false, hasNews: false, repositories: 1, ms: HOUR / 12, calls: 300 + 4000 / 12 + 20 },
];

it.each(atNight(AT_NIGHT, BY_DAY))(
  "follows 50 open pull requests in each of $repositories repositories within $calls calls ($hasGraphql)",
  async ({ repositories, ms, calls, ...kind }) => {
    let nowMs = () => Date.UTC(2026, 0, 5, 9);
    await using host = await openManyPulls({ count: PULLS, ...kind }, () => nowMs());
    const codeHost = {
      kind: "github" as const,
      apiUrl: host.apiUrl,
      owner: "acme",
      tokenEnv: "T",
      pollSeconds: 60,
    };
    const projects = Array.from({ length: repositories }, (_, index) =>
      makeServiceProject({ id: `p${index}`, codeHost: { ...codeHost, repo: `r${index}` } }),
    );
    await using service = await ServiceUnderTest.start({ projects, env: { T: "a-token-0123456789" } });
    nowMs = () => service.clock.now();
    for (let repo = 0; repo < repositories; repo += 1) {
      for (let number = 1; number <= PULLS; number += 1) {
        const id = `job-${repo}-${number}`;
        const sql = `INSERT INTO jobs (id, project_id, repository, ref, model, created_at, active_at) VALUES (?, ?, '', '', '', ?, ?)`;
        service.db.prepare(sql).run(id, `p${repo}`, nowMs(), nowMs());
        service.store.followed.begin(id, host.link(repo, number), [], nowMs());
      }
    }
    await service.stop();
    await service.start();
    await pass(service, ms);
    expect(host.takePaid()).toBeLessThanOrEqual(calls);
    const seen = service.db.prepare(`SELECT count(*) AS count FROM jobs WHERE pull_request <> 'null'`).get();
    expect(seen).toMatchObject({ count: repositories * PULLS });
    const known = service.db.prepare(
      `SELECT count(*) AS count FROM jobs WHERE pull_request ->> '$.mergeable'`,
    );
    expect(known.get()).toMatchObject({ count: repositories * PULLS });
    expect(host.most()).toBe(kind.hasGraphql ? 20 : 0);
  },
  300_000,
);

async function pass({ clock, service }: ServiceUnderTest, ms: number): Promise<void> {
  const endMs = clock.now() + ms;
  for (;;) {
    await service.queue.idle();
    const next = service.queue.nextDueAt();
    if (next === null || next > endMs) break;
    clock.advanceTo(next);
  }
  clock.advanceTo(endMs);
}
