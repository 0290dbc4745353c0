import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import type { Env } from "../env.ts";
import { openSandbox } from "../runner/sandbox/open-sandbox.ts";
import type { Sandbox } from "../runner/sandbox/sandbox.ts";

/** The sandbox that all checks of agents share. `opened` rejects with a `SandboxMissingError`. `folder` is removed at the end, with all that is in it. */
export type CheckSandbox = AsyncDisposable & { folder: string; opened: Promise<Sandbox> };

/** Opens the sandbox that agents run in, which takes a try of it. */
export async function openCheckSandbox({ env, clock }: { env: Env; clock: Clock }): Promise<CheckSandbox> {
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
  const opened = openSandbox({ containment: "required", folder, env, clock });
  return {
    folder,
    opened,
    [Symbol.asyncDispose]: async () => {
      await opened.catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}
