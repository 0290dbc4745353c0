import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

const Manifest = z.object({
  features: z.object({
    slash_commands: z.array(z.object({ command: z.string(), should_escape: z.boolean() })),
    shortcuts: z.array(z.object({ name: z.string(), type: z.string(), callback_id: z.string() })),
  }),
  oauth_config: z.object({
    scopes: z.object({ bot: z.array(z.string()), bot_optional: z.array(z.string()) }),
  }),
  settings: z.object({ event_subscriptions: z.object({ bot_events: z.array(z.string()) }) }),
});
export type Manifest = z.infer<typeof Manifest>;

/** Returns all scopes in `manifest.yml`, including the optional ones. */
export function manifestScopes(): string[] {
  return readManifest().oauth_config.scopes.bot;
}

/** Reads those parts of `manifest.yml` that tests use. */
export function readManifest(): Manifest {
  return Manifest.parse(parse(readFileSync(new URL("../../manifest.yml", import.meta.url), "utf8")));
}
