import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { startServiceWorld } from "../support/service-world.ts";

it("makes a pull request, and a follow-up adds a commit to the same one", { timeout: 60_000 }, async () => {
  await using world = await startServiceWorld();
  await using service = new AppProcess({ env: world.env, program: world.program });
  const url = (await service.ready()) ?? "";

  const jobId = (await world.create(url)) ?? "";
  await world.ended(url, jobId, service);
  const first = await world.read(url, jobId);
  expect(first).toMatchObject({ status: "completed", repository: "acme/docs" });
  expect(first?.prLink).toMatch(/\/acme\/docs\/pull\/1$/);
  expect(await world.atCodeHost(jobId)).toEqual({
    pulls: 1,
    branches: ["docs-agent/<id>", "main"],
    commits: 1,
    page: "# Quickstart\n\nOne more line.",
  });

  await world.message(url, jobId);
  await world.ended(url, jobId, service);
  expect(await world.read(url, jobId)).toMatchObject({ status: "completed", prLink: first?.prLink });
  expect(await world.atCodeHost(jobId)).toMatchObject({
    pulls: 1,
    commits: 2,
    page: "# Quickstart\n\nOne more line.\n\nOne more line.",
  });

  service.signal("SIGTERM");
  expect(await service.exit()).toBe(0);
});
