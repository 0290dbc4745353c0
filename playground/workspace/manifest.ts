import { readFileSync } from "node:fs";
import { parse } from "yaml";
import * as z from "zod";
import type { AppSurface } from "./page-protocol.ts";

const Manifest = z.object({
  display_information: z.object({ name: z.string(), description: z.string().optional() }),
  features: z.object({
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
  settings: z.object({ event_subscriptions: z.object({ bot_events: z.array(z.string()) }) }),
});

/** Reads the project's `manifest.yml`. Throws if it is missing or doesn't parse. */
export function readAppSurface(file: URL = new URL("../../manifest.yml", import.meta.url)): AppSurface {
  const { display_information, features, oauth_config, settings } = Manifest.parse(
    parse(readFileSync(file, "utf8")),
  );
  return {
    scopes: oauth_config.scopes.bot,
    events: settings.event_subscriptions.bot_events,
    appName: display_information.name,
    commands: features.slash_commands.map(({ command, description, usage_hint }) => ({
      command,
      description,
      usageHint: usage_hint ?? "",
    })),
    messageShortcuts: features.shortcuts
      .filter(({ type }) => type === "message")
      .map(({ name, callback_id, description }) => ({ name, callbackId: callback_id, description })),
  };
}
