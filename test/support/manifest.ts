import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

const Manifest = z.object({
  features: z.object({
    app_home: z.object({ home_tab_enabled: z.boolean() }),
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

/**
 * Reads those parts of `manifest.yml` that tests use. With `isAgent`, the lines that declare the
 * app as an agent count.
 */
export function readManifest(isAgent = false): Manifest {
  return Manifest.parse(parse(isAgent ? agentManifest() : manifestSource()));
}

/** The text of `manifest.yml`. */
export function manifestSource(): string {
  return readFileSync(new URL("../../manifest.yml", import.meta.url), "utf8");
}

/** The text of `manifest.yml` after somebody has declared the app as an agent. */
export function agentManifest(): string {
  return manifestSource().replaceAll(/^( *)#agent /gm, "$1");
}
