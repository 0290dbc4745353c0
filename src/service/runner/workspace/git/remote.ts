import type { TokenProvider } from "../../../pulls/code-host/token-provider.ts";
import { type GitCall, type GitRunner, remoteOf } from "./git.ts";
import { CredentialsRefusedError } from "./git-fault.ts";

/** What git authenticates with. Ask for it right before each use. */
export type GitCredentials = Pick<TokenProvider, "token" | "drop">;

/** The parts of a project that lead to its remote. */
export type RemoteProject = {
  repository: string;
  /** The repository that has the branches of jobs, if it is another one. */
  fork?: { repository: string } | null;
  /** For both. */
  gitCredentials: GitCredentials | null;
};

/** A project's repository at its server, and the fork that has the branches of jobs, if any. */
export class Remote {
  readonly #project: RemoteProject;
  readonly #git: GitRunner;
  readonly #signal: AbortSignal;

  constructor(project: RemoteProject, git: GitRunner, signal: AbortSignal) {
    this.#project = project;
    this.#git = git;
    this.#signal = signal;
  }

  /** The address of the repository with the branches of jobs. */
  get home(): string {
    const { repository, fork } = this.#project;
    return fork?.repository ?? repository;
  }

  /**
   * Runs git with the remote's address between the arguments, by default that of the repository
   * itself. Resolves to its output.
   */
  async talk(
    args: readonly string[],
    refs: readonly string[],
    { at, ...call }: Pick<GitCall, "okCodes" | "watch"> & { at?: string } = {},
  ): Promise<string> {
    const { repository, gitCredentials } = this.#project;
    for (let isAgain = false; ; isAgain = true) {
      const token = (await gitCredentials?.token(this.#signal)) ?? null;
      const remote = remoteOf(at ?? repository, token);
      try {
        return await this.#git.text([...args, remote.url, ...refs], { remote, ...call });
      } catch (error) {
        const isRefused = error instanceof CredentialsRefusedError && token !== null;
        if (isAgain || !isRefused || gitCredentials?.drop(token) !== true) throw error;
      }
    }
  }

  /** The remote's branches whose full names begin with one of these, and their commits. */
  async branches(beginnings: readonly string[]): Promise<Map<string, string>> {
    const patterns = beginnings.map((each) => `${each}*`);
    const listing = await this.talk(["ls-remote", "--refs", "--"], patterns, { at: this.home });
    const lines = listing.split("\n").map((line) => line.split("\t"));
    return new Map(
      lines.flatMap(([commit = "", ref = ""]): [string, string][] =>
        beginnings.some((each) => ref.startsWith(each)) ? [[ref, commit]] : [],
      ),
    );
  }
}
