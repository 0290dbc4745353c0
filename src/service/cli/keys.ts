import type { Command } from "commander";
import { StartError } from "../../start-error.ts";
import { createKey, listKeys, revokeKey } from "../keys.ts";
import { readState, withState } from "../state-file.ts";
import type { CommandContext } from "./context.ts";
import { keyTable } from "./show.ts";

/** Adds `keys create | list | revoke`. They work while the server runs, which knows the change with the next request. */
export function addKeysCommands(program: Command, context: CommandContext): void {
  const keys = program.command("keys").description("admin keys of projects");
  const { clock, write } = context;

  keys
    .command("create")
    .description("create an admin key (shown only once)")
    .requiredOption("--project <id>", "the project that the key is for")
    .action(async ({ project }: { project: string }) => {
      const config = context.settings({ needsSecrets: false });
      if (!config.projects.some(({ id }) => id === project)) {
        const known = config.projects.map(({ id }) => id).join(", ");
        throw new StartError(
          `There is no project ${JSON.stringify(project)} in the settings. Known: ${known}.`,
        );
      }
      const { key } = await withState(config, clock, (db) =>
        createKey(db, { prefix: config.keyPrefix, projectId: project, nowMs: clock.now() }),
      );
      // The key alone, so that it can be piped into where it belongs.
      write(`${key}\n`);
    });

  keys
    .command("list")
    .description("list the keys: id, project, last characters, when created and revoked")
    .action(() => {
      const config = context.settings({ needsSecrets: false });
      write(keyTable(readState(config, listKeys) ?? []));
    });

  keys
    .command("revoke")
    .description("revoke a key; the next request with it is refused")
    .argument("<id>", "the key's id, from keys list")
    .action(async (id: string) => {
      const config = context.settings({ needsSecrets: false });
      const isKnown = await withState(config, clock, (db) => revokeKey(db, id, clock.now()));
      if (!isKnown) throw new StartError(`There is no key ${JSON.stringify(id)}. See keys list.`);
      write(`The key ${id} is revoked.\n`);
    });
}
