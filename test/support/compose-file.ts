import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

const Service = z.looseObject({
  image: z.string(),
  build: z.union([z.string(), z.looseObject({ target: z.string(), args: z.array(z.string()) })]).optional(),
  command: z.array(z.string()).optional(),
  profiles: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  env_file: z.union([z.string(), z.array(z.object({ path: z.string(), required: z.boolean() }))]).optional(),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.looseObject({ test: z.array(z.string()).default([]) }).optional(),
  stop_grace_period: z.string().optional(),
});
const Compose = z.looseObject({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()),
});

/** The text of `compose.yml`. */
export const composeText = readFileSync(new URL("../../compose.yml", import.meta.url), "utf8");

/**
 * Reads `compose.yml` and replaces its variables as Compose does: `${NAME:?message}`,
 * `${NAME:-default}`.
 */
export function readCompose(env: Readonly<Record<string, string>>): z.infer<typeof Compose> {
  const text = composeText.replace(
    /\$\{(\w+):([?-])([^}]*)\}/g,
    (_, name: string, kind: string, word: string) => {
      const value = env[name] ?? "";
      if (value === "" && kind === "?") throw new Error(word);
      return value === "" ? word : value;
    },
  );
  return Compose.parse(parse(text, { merge: true }));
}
