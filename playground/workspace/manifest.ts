import { readFileSync } from "node:fs";
import { parse } from "yaml";
import * as z from "zod";

const Manifest = z.object({
  display_information: z.object({ name: z.string(), description: z.string().optional() }),
  features: z.object({
    app_home: z.object({ messages_tab_read_only_enabled: z.boolean().optional() }).optional(),
    slash_commands: z
      .array(z.object({ command: z.string(), description: z.string(), usage_hint: z.string().optional() }))
      .default([]),
    shortcuts: z
      .array(
        z.object({ name: z.string(), type: z.string(), callback_id: z.string(), description: z.string() }),
      )
      .default([]),
  }),
  oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }),
});

/** What of the app's manifest matters in Slack. */
export type AppSurface = {
  /** The bot scopes it asks to be installed with. */
  scopes: string[];
  appName: string;
  commands: { command: string; description: string; usageHint: string }[];
  /** The entries of a message's menu. */
  messageShortcuts: { name: string; callbackId: string; description: string }[];
  /** Whether people can write to the bot in its direct messages. */
  takesDirectMessages: boolean;
};

/** Reads the project's `manifest.yml`; throws where it is missing or does not parse. */
export function readAppSurface(file: URL = new URL("../../manifest.yml", import.meta.url)): AppSurface {
  const { display_information, features, oauth_config } = Manifest.parse(parse(readFileSync(file, "utf8")));
  return {
    scopes: oauth_config.scopes.bot,
    appName: display_information.name,
    commands: features.slash_commands.map(({ command, description, usage_hint }) => ({
      command,
      description,
      usageHint: usage_hint ?? "",
    })),
    messageShortcuts: features.shortcuts
      .filter(({ type }) => type === "message")
      .map(({ name, callback_id, description }) => ({ name, callbackId: callback_id, description })),
    takesDirectMessages: features.app_home?.messages_tab_read_only_enabled !== true,
  };
}
