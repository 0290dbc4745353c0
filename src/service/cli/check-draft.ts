import { StartError } from "../../shared/errors.ts";
import { createRedact } from "../base/redaction.ts";
import { operatorText } from "../base/run-error.ts";
import type { ServiceProject } from "../config/config.ts";
import { type Env, projectSecrets } from "../config/env.ts";
import { CodeHostTokens } from "../pulls/code-host/code-host-tokens.ts";
import { CommitIdentities } from "../pulls/code-host/commit-identities.ts";
import { createGitHubCodeHost } from "../pulls/code-host/github-code-host.ts";
import { commitTree } from "../runner/workspace/git/commit-tree.ts";
import { type GitRunner, remoteOf } from "../runner/workspace/git/git.ts";
import type { Clock } from "../../shared/machine/ports.ts";
import { inScratchRepository } from "./scratch-repository.ts";

const TIME_LIMIT_MS = 120_000;
const BASE = "refs/check/base";
const TITLE = "Docs Agent's doctor tries whether it can open a draft";
const BODY = "It changes nothing, and is closed at once. Its branch is removed.";

type Trying = { branch: string; env: Env; clock: Clock };

/**
 * Pushes an empty commit to a branch that isn't there yet, opens a draft of it and closes it, and
 * removes the branch. Resolves to the draft's address. Rejects with a {@link StartError}.
 */
export async function checkDraft(project: ServiceProject, { branch, env, clock }: Trying): Promise<string> {
  const { codeHost, baseBranch, repository, fork } = project;
  if (codeHost.kind !== "github") throw new StartError("The project has no code host. Nothing was tried.");
  const redact = createRedact(projectSecrets(project, env));
  const signal = AbortSignal.timeout(TIME_LIMIT_MS);
  const tokens = new CodeHostTokens({ env, clock });
  const hosted = { ...codeHost, tokens: tokens.of(codeHost), clock, redact, fork };
  const host = createGitHubCodeHost(hosted);
  try {
    const token = (await tokens.forGit(project)?.token(signal)) ?? null;
    const own = remoteOf(repository, token);
    const remote = fork === null ? own : remoteOf(fork.repository, token);
    const identity = await new CommitIdentities().of(project, hosted, signal);
    const committer = { ...identity, signingKeyFile: project.commits.signingKeyFile };
    return await inScratchRepository({ env, redact, signal }, async (git) => {
      await assertFree(git, remote, branch);
      const from = `+refs/heads/${baseBranch}:${BASE}`;
      await git.run(["fetch", "--quiet", "--no-tags", "--depth=1", "--", own.url, from], { remote: own });
      const [parent, tree] = [
        await git.text(["rev-parse", BASE]),
        await git.text(["rev-parse", `${BASE}^{tree}`]),
      ];
      const words = { committer, message: TITLE, atMs: clock.wallMs() };
      const commit = await commitTree(git, { ...words, tree, parents: [parent] });
      await git.run(["push", "--quiet", "--", remote.url, `${commit}:refs/heads/${branch}`], { remote });
      try {
        const texts = { branch, base: baseBranch, title: TITLE, body: BODY };
        const asDraft = await host.create({ ...texts, isDraft: true }, signal);
        const pull =
          asDraft === "no-drafts" ? await host.create({ ...texts, isDraft: false }, signal) : asDraft;
        if (typeof pull === "string") throw new StartError("A pull request of this branch is open already.");
        await host.change(pull.number, { state: "closed" }, signal);
        return pull.url;
      } finally {
        await git.run(["push", "--quiet", "--", remote.url, `:refs/heads/${branch}`], { remote });
      }
    });
  } catch (error) {
    throw new StartError(redact(operatorText(error)), { cause: error });
  }
}

async function assertFree(
  git: GitRunner,
  remote: ReturnType<typeof remoteOf>,
  branch: string,
): Promise<void> {
  const found = await git.text(["ls-remote", "--", remote.url, `refs/heads/${branch}`], { remote });
  if (found !== "") throw new StartError(`There is a branch ${branch} already. Name another with --branch.`);
}
