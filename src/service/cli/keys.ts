import type { Command } from "commander";
import type { CommandContext } from "./context.ts";
import { doCommand } from "./do-command.ts";
import { noSuchProject } from "./no-such-project.ts";

/** Adds `keys create | list | revoke`. A running server knows the change with the next request. */
export function addKeysCommands(program: Command, context: CommandContext): void {
  const keys = program.command("keys").description("admin keys of projects");
  const { write } = context;

  keys
    .command("create")
    .description("create an admin key (shown only once)")
    .requiredOption("--project <id>", "the project that the key is for")
    .action(async ({ project }: { project: string }) => {
      const config = context.settings({ needsSecrets: false });
      if (!config.projects.some(({ id }) => id === project)) throw noSuchProject(project, config);
      write((await doCommand(context, { name: "create-key", prefix: config.keyPrefix, project })).text);
    });

  keys
    .command("list")
    .description("list the keys: id, project, last characters, when created and revoked")
    .action(async () => write((await doCommand(context, { name: "list-keys" })).text));

  keys
    .command("revoke")
    .description("revoke a key; the next request with it is refused")
    .argument("<id>", "the key's id, from keys list")
    .action(async (id: string) => write((await doCommand(context, { name: "revoke-key", id })).text));
}
