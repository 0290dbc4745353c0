import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

const Manifest = z.object({ oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }) });

/** The scopes that the app asks for, from `manifest.yml`: the playground installs it with these and no more. */
export function readManifestScopes(): string[] {
  const source = readFileSync(new URL("../../manifest.yml", import.meta.url), "utf8");
  return Manifest.parse(parse(source)).oauth_config.scopes.bot;
}
