import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../../start-error.ts";
import type { CommandResult, StateCommand } from "../commands/command.ts";
import { askService } from "../commands/command-socket.ts";
import { runCommand } from "../commands/run-command.ts";
import { openDataDir, withState } from "../state-file.ts";
import type { CommandContext } from "./context.ts";

/** A service that starts or stops, or another command, has the state for a moment. */
const WAIT_MS = 10_000;
const TRY_EVERY_MS = 100;

/** Has the running service do a command. If none runs, the command is done here. Rejects with a {@link StartError} that says why it can't be done. */
export async function doCommand(
  { settings, clock }: CommandContext,
  command: StateCommand,
): Promise<CommandResult> {
  const config = settings({ needsSecrets: false });
  openDataDir(config);
  const giveUpMs = clock.now() + WAIT_MS;
  let result: CommandResult | null = null;
  while (result === null) {
    result =
      (await askService(config.dataDir, command)) ??
      (await withState(config, clock, (db) => runCommand(command, { db, nowMs: clock.now() })));
    if (result !== null) break;
    if (clock.now() > giveUpMs) {
      throw new StartError(
        `A job service that takes no commands is using ${config.dataDir}. Try again later.`,
      );
    }
    await sleep(TRY_EVERY_MS);
  }
  if (result.isRefused) throw new StartError(result.text);
  return result;
}
