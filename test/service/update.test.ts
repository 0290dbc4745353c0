import { expect, it } from "vitest";
import { openFollowingWorld } from "../support/following-world.ts";

const MINUTE = 60_000;
const HEADERS = { "Docs-Agent-Capabilities": "docs-agent/1" };

type World = Awaited<ReturnType<typeof openFollowingWorld>>;

const press = (world: World, id: string, key?: string, body: object = {}) =>
  world.service.ask(`/v2/agent/docs/job/${id}/update`, {
    body,
    headers: { ...HEADERS, ...(key !== undefined && { "idempotency-key": key }) },
  });

/** The status of a refusal and what it says. */
const refusalOf = async (answer: Promise<Response>) => {
  const { status } = await answer;
  return [status, ((await (await answer).json()) as { error: string }).error];
};

it("adds a turn that brings the branch up to date, once for one key", async () => {
  await using world = await openFollowingWorld();
  const { id } = await world.job();
  await world.pass(MINUTE);
  expect(await refusalOf(press(world, id))).toEqual([409, "The branch already has everything from main."]);

  await world.site.push("main", { "docs/faq.md": "# FAQ\n" });
  const requester = { name: "Ana", link: null, isPrivate: true };
  const answer = await press(world, id, "press-1", { requester });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({
    id,
    status: "active",
    turns: [{ number: 1 }, { kind: "update" }],
  });
  const run = await world.service.runner.runOf(id, 2);
  expect(run.input).toMatchObject({ kind: "update", words: null, requester });
  expect(await refusalOf(press(world, id))).toEqual([409, "The branch is already being brought up to date."]);
  run.end({ kind: "no-changes", summary: null, leftOut: [] });
  await world.pass(MINUTE);
  // By now the branch isn't behind any more, and the same press gets the same answer.
  await world.mine.pulls.updateBranch({ ...world.at, pull_number: 1 });
  await world.pass(MINUTE);
  const again = await press(world, id, "press-1", { requester });
  expect(again.status).toBe(200);
  expect(await again.json()).toMatchObject({ turns: [{ number: 1 }, { number: 2, kind: "update" }] });
  expect((await press(world, id, "press-1")).status).toBe(422);
});

it("refuses in words what can't be brought up to date", async () => {
  await using world = await openFollowingWorld();
  const { id, pull } = await world.job();
  const none = await world.service.ask("/v2/agent/docs/job", { body: { prompt: "Fix" } });
  const { id: without } = (await none.json()) as { id: string };
  expect(await refusalOf(press(world, without))).toEqual([404, "The job has no pull request."]);
  (await world.service.runner.runOf(without)).end({ kind: "no-changes", summary: null, leftOut: [] });
  expect((await press(world, "nope")).status).toBe(404);
  await world.site.push("main", { "docs/quickstart.md": "# Another\n" });
  await world.pass(15 * MINUTE);
  expect(await world.record(id)).toMatchObject({ blockedBy: "conflicts" });

  await world.mine.git.createRef({ ...world.at, ref: "refs/heads/v1", sha: await world.site.tip("main") });
  await world.mine.pulls.update({ ...pull, base: "v1" });
  await world.pass(15 * MINUTE);
  expect(await refusalOf(press(world, id))).toEqual([
    409,
    "The pull request doesn't go to main. Bring its branch up to date by hand.",
  ]);
  await world.mine.pulls.update({ ...pull, state: "closed" });
  await world.pass(15 * MINUTE);
  expect(await refusalOf(press(world, id))).toEqual([
    409,
    "The pull request is closed, so its branch stays as it is.",
  ]);
  await world.service.ask(`/v2/agent/docs/job/${id}/archive`, { body: {} });
  expect((await press(world, id)).status).toBe(400);
});

it("leaves to the turn what the code host doesn't say", async () => {
  await using world = await openFollowingWorld();
  const { id } = await world.job();
  await world.pass(MINUTE);
  world.host.traffic.fault = (request) =>
    request.includes("/compare/") ? { kind: "http", status: 502, headers: {}, body: "" } : undefined;
  expect((await press(world, id)).status).toBe(200);
});
