import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createCodeHost } from "../../world/code-host/index.ts";
import { commitTo } from "../../test/support/commit-to.ts";
import { addCommits } from "../../test/support/long-history.ts";
import { startStreamingProxy } from "../../world/faults/streaming-proxy.ts";
import type { Scenario } from "../scenario.ts";
import { ServiceProgram } from "../service-program.ts";

const COMMITS = 20_000;
const PAGES = 800;
const TOKEN = "bench-token-0123456789";
const MB = 1024 ** 2;

/** Compares a first turn's fetch from a repository with a long history with a plain clone. */
export const serviceHistory: Scenario = {
  name: "service-history",
  summary: `what a first turn fetches of ${COMMITS.toLocaleString("en-US")} commits, against a plain clone`,
  async run({ checkout, dir, progress }) {
    progress("making the repository");
    const bare = join(dir, "code-host/repositories/acme/docs.git");
    mkdirSync(bare, { recursive: true });
    const git = async (...args: string[]) => void (await promisify(execFile)("git", args, { cwd: bare }));
    await git("init", "--quiet", "--bare", "--initial-branch=main");
    await commitTo(bare, "main", { "README.md": "# Docs\n" });
    await addCommits(bare, { commits: COMMITS, pages: PAGES });
    await git("repack", "-adfq");

    await using host = await createCodeHost({ dataDir: join(dir, "code-host"), tokens: [TOKEN] });
    const { origin, pathname } = new URL(host.gitUrl("acme", "docs"));
    await using proxy = await startStreamingProxy(origin);
    async function measure(act: () => Promise<void>) {
      const [sentBytes, startedAt] = [proxy.sentBytes, performance.now()];
      await act();
      return { mb: (proxy.sentBytes - sentBytes) / MB, ms: performance.now() - startedAt };
    }

    progress("cloning it");
    const withToken = `${proxy.url.replace("//", `//x:${TOKEN}@`)}${pathname}`;
    const cloned = await measure(() => git("clone", "--quiet", "--bare", withToken, join(dir, "plain.git")));
    progress("a first turn");
    const project = {
      id: "docs",
      repository: `${proxy.url}${pathname}`,
      gitCredentialsEnv: "BENCH_TOKEN",
      agent: { kind: "command", command: ["sh", "-c", "echo more >> README.md"] },
      codeHost: { kind: "none" },
    };
    const served = { checkout, dir: join(dir, "service"), jobsAtOnce: 1, env: { BENCH_TOKEN: TOKEN } };
    await using service = await ServiceProgram.serve({ ...served, projects: [project] });
    const turn = await measure(async () => void (await service.runJob()));
    const against = (value: number) => ({ name: "git clone", values: [value] });
    const measured = (value: number) => ({ name: checkout.name, values: [value] });
    return [
      {
        what: "sent by the host for a first turn",
        unit: "MB",
        measured: measured(turn.mb),
        against: against(cloned.mb),
        reach: "≤ 0.5",
      },
      {
        what: "first turn, agent and checkout included",
        unit: "ms",
        measured: measured(turn.ms),
        against: against(cloned.ms),
      },
    ];
  },
};
