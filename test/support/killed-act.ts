import { setTimeout as sleep } from "node:timers/promises";
import { Octokit } from "@octokit/rest";
import { expect } from "vitest";
import type { TurnAct } from "../../src/shared/contract/turn.ts";
import { QUIET } from "../world/code-host/setup.ts";
import { AppProcess } from "./app-process.ts";
import { commitTo } from "./commit-to.ts";
import type { Boundary } from "./killed-service.ts";
import { readState } from "./read-state.ts";
import { agentFile, startServiceWorld } from "./service-world.ts";

const PAGE = "docs/quickstart.md";
const START = "# Quickstart\n\nInstal it.\n\nRun it.\n\nBye.\n";
const MIRA = { token: "mira-token-0123456789", login: "mira" };
const PULL = { owner: "acme", repo: "docs", pull_number: 1 };
/** Long enough that what the service still commits has been committed. */
const IDLE_MS = 5_000;

type World = Awaited<ReturnType<typeof startServiceWorld>>;

/** What people do at the code host before an act is ordered. */
const BEFORE: Record<TurnAct, (world: World, mira: Octokit["rest"]) => Promise<unknown>> = {
  address: (_, mira) => {
    const comments = [
      { line: 3, body: "When?" },
      { line: 5, body: "Say start." },
      { line: 1, body: "Another title?" },
    ].map((comment) => ({ path: PAGE, ...comment }));
    return mira.pulls.createReview({ ...PULL, event: "REQUEST_CHANGES", body: "Almost.", comments });
  },
  update: ({ bare }) => commitTo(bare, "main", { [PAGE]: START.replace("Instal it.", "Instal it today.") }),
};

/**
 * Has a job's pull request opened, and then one act ordered and done. The service is killed at the
 * boundary, which counts from the order on, unless it is null, and started again. `isMissed` is
 * true if the run didn't reach it, and `seen` is null if it died before. Otherwise that is
 * everything that people see in the end, without what differs from run to run.
 */
export async function actWithDeath(
  act: TurnAct,
  boundary: Boundary | null,
  onStep: (step: Boundary) => void = () => {},
) {
  await using resources = new AsyncDisposableStack();
  let running: AppProcess | null = null;
  let requests = 0;
  let isCounted = false;
  /** What the code host took since the order. */
  const taken: string[] = [];
  const world = resources.use(
    await startServiceWorld(
      async (phase, what) => {
        if (!isCounted) return false;
        if (phase === "before") requests += 1;
        if (phase === "after") taken.push(what);
        onStep({ at: "request", phase, number: requests, what });
        const isIt = boundary?.at === "request" && boundary.phase === phase && boundary.number === requests;
        if (isIt) await running?.kill();
        return isIt;
      },
      {
        agent: { kind: "command", command: [process.execPath, agentFile("act-on-pull-request")] },
        quickstart: START,
      },
    ),
  );
  const { env, program, codeHost } = world;
  codeHost.tokens.add(MIRA);
  const mira = new Octokit({ auth: MIRA.token, baseUrl: codeHost.apiUrl, log: QUIET }).rest;
  const first = resources.use(
    new AppProcess({
      env,
      program,
      onCommit: ({ commit, isEmpty, sql }) => {
        if (isCounted && !isEmpty) onStep({ at: "commit", phase: "before", number: commit, what: sql });
      },
      ...(boundary?.at === "commit" ? { killAtCommit: `${boundary.phase}:${boundary.number}` } : {}),
    }),
  );
  running = first;
  let url = (await first.ready()) ?? "";
  const jobId = (await world.create(url)) ?? "";
  await world.ended(url, jobId, first);
  // It wrote more than usual, and died before the order.
  if (first.hasExited) return { isMissed: true, seen: null };
  await BEFORE[act](world, mira);
  isCounted = true;
  let isMissed = false;
  let isOrdered = await world.act(url, jobId, act);
  if (isOrdered) await world.ended(url, jobId, first);
  if (boundary !== null) {
    if ((await Promise.race([first.exit(), sleep(IDLE_MS)])) === undefined) {
      isMissed = true;
      await first.kill();
    }
    expect(await first.exit()).toBe("SIGKILL");
    const second = resources.use(new AppProcess({ env, program }));
    running = second;
    url = (await second.ready()) ?? "";
    // Without an answer, the client asks again with the same idempotency key.
    isOrdered ||= await world.act(url, jobId, act);
    await world.ended(url, jobId, second);
  }
  const { status, turn } = await world.report(url, jobId);
  const { pulls, commits, page } = await world.atCodeHost(jobId);
  const [pull] = codeHost.pullRequests("acme", "docs");
  const { data: comments } = await mira.pulls.listReviewComments(PULL);
  const seen = {
    status,
    outcome: turn?.outcome,
    notes: turn?.notes,
    pulls,
    commits,
    page,
    title: pull?.title,
    body: pull?.body,
    reviewers: pull?.reviewers,
    replies: comments.flatMap(({ body, in_reply_to_id: to }) => (to === undefined ? [] : [body])),
    rounds: readState(world.settings, (db) =>
      db.prepare("SELECT number FROM turns WHERE is_round = 1").all(),
    ),
    pushes: taken.filter((what) => what.endsWith("git-receive-pack") && what.startsWith("POST")).length,
    asked: taken.filter((what) => what.endsWith("/requested_reviewers")).length,
  };
  const told = JSON.stringify(seen)
    .replaceAll(jobId, "<id>")
    .replaceAll(/\b[0-9a-f]{7,40}\b/g, "<sha>");
  return { isMissed, seen: JSON.parse(told.replaceAll(/127\.0\.0\.1:\d+/g, "<host>")) as typeof seen };
}
