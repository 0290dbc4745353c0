import { z } from "zod";
import type { Clock } from "../../../shared/machine/ports.ts";
import type { GitHubApi } from "./github-api.ts";
import { RefusedByCodeHostError } from "./github-fault.ts";

const ROUTE = "GET /repos/{owner}/{repo}/collaborators/{username}/permission";
const Permission = z.object({ permission: z.string() });
const KEPT_MS = 60 * 60_000;
const MAX_KEPT = 1000;

/** True if a person may write to the repository. Rejects if the host doesn't tell. */
export async function readMayWrite(api: GitHubApi, username: string, signal: AbortSignal): Promise<boolean> {
  const asked = { doing: "Asking who may write to the repository", signal, schema: Permission };
  try {
    const { permission } = await api.ask(asked, ROUTE, { username });
    return ["admin", "write"].includes(permission);
  } catch (error) {
    if (error instanceof RefusedByCodeHostError && error.status === 404) return false;
    throw error;
  }
}

/** Knows who may write to a repository, and asks again once an hour. */
export class WriteAccess {
  readonly #api: GitHubApi;
  readonly #clock: Clock;
  readonly #known = new Map<string, { mayWrite: boolean | null; until: number }>();

  constructor(api: GitHubApi, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** True if a person may write. Null if the host doesn't tell. */
  async mayWrite(username: string, signal: AbortSignal): Promise<boolean | null> {
    const known = this.#known.get(username);
    if (known !== undefined && this.#clock.monotonicMs() < known.until) return known.mayWrite;
    const mayWrite = await readMayWrite(this.#api, username, signal).catch((error: unknown) => {
      if (error instanceof RefusedByCodeHostError) return null;
      throw error;
    });
    if (this.#known.size >= MAX_KEPT) this.#known.clear();
    this.#known.set(username, { mayWrite, until: this.#clock.monotonicMs() + KEPT_MS });
    return mayWrite;
  }
}
