import { setTimeout as wait } from "node:timers/promises";
import type { CodeHost, HostEvent } from "../world/code-host/index.ts";
import { brokenAnchors } from "./anchors.ts";

/** The name of the check that the code host runs for every pull request. */
export const HOSTED_CHECK = "anchors";

/** Long enough for people to see that the check is running. */
const RUN_MS = 3000;
const MAX_SUMMARY_CHARS = 1000;

type Repo = { owner: string; repo: string };

/**
 * Checks each push to a pull request as a build would: every link to a heading of another page must
 * find that heading. The agent's own check doesn't look at headings, so a change can pass there and
 * fail here. Pushes whose check was cut short by the last exit are checked again. Stops when it is
 * disposed of.
 */
export function startHostedChecks(codeHost: CodeHost, { owner, repo }: Repo): Disposable {
  const ended = new AbortController();
  const repository = codeHost.repository(owner, repo);

  async function run(sha: string): Promise<void> {
    const check = { sha, name: HOSTED_CHECK };
    await codeHost.setCheck(owner, repo, { ...check, result: "pending" });
    const problems = brokenAnchors(await repository.repository.texts(sha, /\.mdx?$/));
    await wait(RUN_MS, undefined, { signal: ended.signal, ref: false });
    const result = problems.length === 0 ? "passed" : "failed";
    const summary = problems.join("; ").slice(0, MAX_SUMMARY_CHARS) || "every link finds its heading";
    await codeHost.setCheck(owner, repo, { ...check, result, summary });
  }

  async function runFor(number: number): Promise<void> {
    const pullRequest = repository.find(number);
    const commits = pullRequest === undefined ? null : await repository.commits(pullRequest);
    if (commits === null) return;
    const isDone = repository.records
      .checkRuns(commits.head)
      .some(({ name, status }) => name === HOSTED_CHECK && status === "completed");
    if (!isDone) await run(commits.head);
  }

  function onEvent(event: HostEvent): void {
    if (event.kind !== "pull-request" || event.pullRequest.state !== "open") return;
    // A check that is cut short runs again at the next start.
    runFor(event.pullRequest.number).catch(() => {});
  }

  const stop = codeHost.onEvent(onEvent);
  for (const { number, state } of repository.all()) {
    if (state === "open") runFor(number).catch(() => {});
  }
  return {
    [Symbol.dispose]() {
      stop();
      ended.abort();
    },
  };
}
