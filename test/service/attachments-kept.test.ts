// @module-tag all

import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { createKey } from "../../src/service/jobs/keys.ts";
import { withState } from "../../src/service/jobs/state-file.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { makeAttachment, PNG } from "../support/attachments.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

const JOBS = "/v2/agent/docs/job";

it("gives the agent what came with a request after the service was killed, and then removes it", async () => {
  await using folder = await ServiceFolder.open({
    docs: ["sh", "-c", "cp /tmp/attachments/1-shot.png docs/"],
  });
  const config = { dataDir: folder.dir.file("data") };
  const made = await withState(config, createSystemClock(), (db) =>
    createKey(db, { prefix: "docsagent", projectId: "docs", nowMs: 0 }),
  );
  async function ask(server: ServiceProcess, path: string, body?: object): Promise<Sent<typeof FullJob>> {
    const response = await fetch(`${server.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${made?.key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.status).toBeLessThan(300);
    return (await response.json()) as Sent<typeof FullJob>;
  }

  const first = await folder.serve();
  const { id } = await ask(first, JOBS, { prompt: "Show it", attachments: [makeAttachment()] });
  first.signal("SIGKILL");
  await first.exit();
  expect(readdirSync(folder.dir.file("data/attachments"))).toHaveLength(1);

  const second = await folder.serve();
  await expect
    .poll(async () => (await ask(second, `${JOBS}/${id}`)).status, { timeout: 60_000, interval: 100 })
    .toBe("completed");
  const picture = execFileSync("git", ["show", `docs-agent/${id}:docs/1-shot.png`], {
    cwd: folder.dir.file("docs-repository"),
  });
  expect(picture).toEqual(PNG);
  await expect.poll(() => readdirSync(folder.dir.file("data/attachments"))).toEqual([]);
}, 90_000);
