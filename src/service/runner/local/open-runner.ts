import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import type { Env } from "../../config/env.ts";
import { KeptOutputs } from "../turn/checks/kept-outputs.ts";
import { noteAgent, openRunnerFolders, RUNNER, sweep } from "../workspace/folders.ts";
import { KeptSessions } from "../workspace/kept-sessions.ts";
import { openSandbox } from "../workspace/sandbox/open-sandbox.ts";
import { openTurnGroups } from "../workspace/sandbox/turn-groups.ts";
import { KeptTrees } from "../workspace/tree/kept-trees.ts";

export type OpenRunnerDeps = {
  /** Only one process may use it at a time. */
  dataDir: string;
  /** The service's environment, with the variables that projects name. */
  env: Env;
  logger: Logger;
  clock: Clock;
  containment: "required" | "none";
  /**
   * True if the process does nothing else. Then it is ended when another one takes its place.
   * @default false
   */
  isOwnProcess?: boolean;
};

/** What a runner has on its machine: folders, a sandbox, and what is kept from turn to turn. */
export type OpenedRunner = Awaited<ReturnType<typeof openRunner>>;

/**
 * Ends what an earlier process left, and finds out how agents can be contained. The caller must own
 * the data folder. `afterwards` removes what is left of its folders. Rejects with a
 * `SandboxMissingError`.
 */
export async function openRunner(deps: OpenRunnerDeps, afterwards: (act: () => Promise<void>) => void) {
  const { dataDir, env, logger, clock, containment, isOwnProcess = false } = deps;
  const folders = await openRunnerFolders(dataDir);
  const emptyTrash = await sweep(folders, logger);
  if (isOwnProcess) await noteAgent(folders, RUNNER, process.pid);
  const trees = new KeptTrees(folders.trees, clock);
  const sessions = new KeptSessions(folders.sessions, clock);
  await sessions.open(folders.trash);
  afterwards(emptyTrash);
  const groups = await openTurnGroups();
  const sandbox = await openSandbox({ containment, folder: folders.sandbox, env, groups });
  if (sandbox.kind === "none") {
    logger.warn(
      { containment },
      "agents run without a sandbox, as the settings say: they can read and send away all that " +
        "this user can read",
    );
  } else {
    if (groups?.bounds.memory === true && sandbox.bounds.memory !== "cgroup") {
      logger.warn({}, "control groups don't work here: turns are bounded without");
    }
    logger.info({ containment, by: sandbox.kind, bounded_by: sandbox.bounds }, "agents run in a sandbox");
  }
  return { folders, sandbox, trees, sessions, outputs: new KeptOutputs() };
}
