import { Octokit } from "@octokit/rest";
import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { ServiceProject } from "../../src/service/config/config.ts";
import { makeServiceProject } from "./service-project.ts";
import { ServiceUnderTest } from "./service-under-test.ts";
import { openPullRequest, openTestHost, OWNER, QUIET, REPO, TOKEN } from "../world/code-host/setup.ts";
import { type ProxyHook, startHookedProxy } from "../../world/faults/hooked-proxy.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";

/** The secret of the code host's webhooks. */
export const SECRET = "webhook-secret-0123456789";
/** A person who reviews pull requests at the code host. */
export const REVIEWER = { token: "mira-token-0123456789", login: "mira" };
/** The identity with which Apps write their checks. */
const CHECKS = { token: "checks-token-0123456789", login: "checks[bot]", kind: "installation" } as const;

type Settings = {
  pollSeconds?: number;
  hasWebhook?: boolean;
  tokenKind?: "classic" | "fine-grained";
  /** An App to use in place of the token. */
  app?: { id: number; keyFile: string; installationId: number };
  /** Runs at each request of the service to the code host. */
  hook?: ProxyHook;
  /** Further settings of the project. */
  project?: Partial<ServiceProject>;
  /** True if the project `api` has the same repository. Otherwise it has no code host. */
  sharesRepository?: boolean;
};

/**
 * Opens the service with the emulated code host, on one clock that the test moves. The pull request
 * of its only job is real, and a script stands for the runner that opened it.
 */
export async function openFollowingWorld({
  pollSeconds = 60,
  hasWebhook = false,
  tokenKind = "classic",
  app,
  hook,
  project,
  sharesRepository = false,
}: Settings = {}) {
  const resources = new AsyncDisposableStack();
  let clock: ManualClock = new ManualClock();
  const tokens = [{ token: TOKEN, kind: tokenKind }, REVIEWER, CHECKS] as const;
  // The code host's machine has a clock of its own, which nobody sets.
  const startMs = clock.now() - clock.monotonicMs();
  const now = () => new Date(startMs + clock.monotonicMs());
  const site = resources.use(await openTestHost(undefined, { tokens, now }));
  const { host } = site;
  const proxy = hook === undefined ? null : resources.use(await startHookedProxy(host.url, hook));
  const codeHost = {
    kind: "github" as const,
    apiUrl: proxy === null ? host.apiUrl : host.apiUrl.replace(host.url, proxy.url),
    owner: OWNER,
    repo: REPO,
    ...(app === undefined ? { tokenEnv: "TOKEN" } : { app }),
    pollSeconds,
    ...(hasWebhook && { webhookSecretEnv: "SECRET" }),
  };
  const service = resources.use(
    await ServiceUnderTest.start({
      projects: [
        makeServiceProject({ codeHost, ...project }),
        makeServiceProject({ id: "api", codeHost: sharesRepository ? codeHost : { kind: "none" } }),
      ],
      env: { TOKEN, SECRET },
    }),
  );
  clock = service.clock;
  if (hasWebhook) host.rules.webhook = { url: `${service.url}/webhooks/docs`, secret: SECRET };
  const as = (token: string) => new Octokit({ auth: token, baseUrl: host.apiUrl, log: QUIET });
  const at = { owner: OWNER, repo: REPO };

  /** Resolves to the answer to a client of level 1. */
  async function record(id: string, projectId = "docs"): Promise<Sent<typeof FollowedPullRequest> | null> {
    const headers = { "Docs-Agent-Capabilities": "docs-agent/1" };
    const key = service.keys[projectId] ?? null;
    const answer = await service.ask(`/v2/agent/${projectId}/job/${id}`, { key, headers });
    return ((await answer.json()) as { pullRequest: Sent<typeof FollowedPullRequest> | null }).pullRequest;
  }

  return {
    service,
    site,
    host,
    at,
    mine: as(TOKEN).rest,
    hers: as(REVIEWER.token).rest,
    checks: as(CHECKS.token).rest.checks,
    /**
     * Creates a job whose turn has opened a pull request. Resolves to everything that names it, and
     * to the other open ones that the turn was told of. It has found that it `overlaps` those.
     */
    async job(
      files: Record<string, string> = { "docs/quickstart.md": "# Quickstart\n" },
      { projectId = "docs", overlaps = [] }: { projectId?: string; overlaps?: string[] } = {},
    ) {
      const jobs = `/v2/agent/${projectId}/job`;
      const key = service.keys[projectId] ?? null;
      const created = await service.ask(jobs, { key, body: { prompt: "Fix it" } });
      const { id } = (await created.json()) as { id: string };
      const run = await service.runner.runOf(id);
      const headRef = `docs-agent/${id}`;
      const number = await openPullRequest(site, headRef, files);
      const sha = await site.tip(headRef);
      run.input.report({ pushed: sha });
      const prLink = `${host.url}/${OWNER}/${REPO}/pull/${number}`;
      const size = { files: 1, additions: 1, deletions: 0 };
      const left = {
        url: prLink,
        number,
        title: "Fix",
        state: "open" as const,
        ...size,
        headRef,
        headSha: sha,
      };
      const pullRequest = overlaps.length === 0 ? null : { ...left, overlaps };
      run.end({ kind: "pull-request", prLink, pullRequest, summary: "Fixed", leftOut: [] });
      const ended = async () => {
        const job = await (await service.ask(`${jobs}/${id}`, { key })).json();
        return (job as { status: string }).status !== "active";
      };
      await until(ended);
      const { openPulls } = run.input;
      return { id, number, sha, prLink, openPulls, pull: { ...at, pull_number: number } };
    },
    record,
    /** Lets time pass, and waits until everything that is due by then has been done. */
    async pass(ms: number): Promise<void> {
      const endMs = clock.monotonicMs() + ms;
      for (;;) {
        await service.service.queue.idle();
        const next = service.service.queue.nextDueAt();
        const nextInMs = (next ?? Infinity) - service.ownClock.now();
        if (nextInMs > endMs - clock.monotonicMs()) break;
        clock.advance(Math.max(nextInMs, 1));
      }
      clock.advance(endMs - clock.monotonicMs());
      await service.service.queue.idle();
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The world that {@link openFollowingWorld} opens. */
export type FollowingWorld = Awaited<ReturnType<typeof openFollowingWorld>>;

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
