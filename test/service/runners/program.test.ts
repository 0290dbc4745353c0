import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { need } from "../../support/need.ts";
import { APP_KEY_LINE } from "../../support/github-app.ts";
import { FIXED_TOKEN, MODEL_KEY, openElsewhere } from "../../support/runners-elsewhere.ts";

const TIMEOUT_MS = 240_000;

function textIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

it(
  "runs a request on another machine to a pull request, with none of the service's keys there",
  { timeout: TIMEOUT_MS },
  async () => {
    need("bubblewrap");
    await using world = await openElsewhere();
    const service = await world.serve();
    const place = await world.addRunner(service, "build-1", { RUNNER_CONTAINMENT: "required" });
    const job = await world.ask(service);
    const runner = place.start();
    await runner.wrote(/the runner asks the job service for work/);
    await service.wrote(/"msg":"turn (?:ended|failed)"/);
    expect(await world.shown(job)).toMatch(/turn 1: pull-request/);
    expect(world.codeHost.pullRequests("acme", "docs")).toMatchObject([{ author: "acme-docs-agent[bot]" }]);
    expect(world.model.seen.map(({ headers }) => headers["x-api-key"])).toEqual([MODEL_KEY]);
    const environment = readFileSync(`/proc/${runner.pid}/environ`, "utf8");
    runner.signal("SIGTERM");
    expect(await runner.exit()).toBe(0);
    const minted = world.codeHost.apps.minted.map(({ token }) => token);
    expect(minted.length).toBeGreaterThan(0);
    const [, token = ""] = /^RUNNER_TOKEN=(.+)$/m.exec(readFileSync(place.dir.file(".env"), "utf8")) ?? [];
    const left = textIn(place.dir.file("runner-data"));
    for (const secret of [MODEL_KEY, APP_KEY_LINE, FIXED_TOKEN, ...minted, token])
      expect([runner.stdout, runner.stderr, service.stdout, left].join("\n")).not.toContain(secret);
    for (const secret of [MODEL_KEY, APP_KEY_LINE, FIXED_TOKEN]) expect(environment).not.toContain(secret);
  },
);
