import type { ServiceProject } from "../../config/config.ts";
import { type Env, envValue, gitVariables } from "../../config/env.ts";

/** The agent's variables. Our own secrets are never passed on, whatever the settings say. */
export function agentEnvOf(project: ServiceProject, env: Env): Record<string, string> {
  const secretNames = gitVariables(project).map(({ name }) => name);
  return Object.fromEntries(
    project.agentEnv.flatMap((name) => {
      const value = envValue(env, name);
      return value === null || secretNames.includes(name) ? [] : [[name, value]];
    }),
  );
}

const SECRET_NAME =
  /(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PWD|CREDENTIALS?|AUTH)(?:_|$)/i;

/**
 * The secrets that must not get into a file. Of the agent's variables, these are the ones that are
 * named like secrets or whose values look like a key. An address or a model's name may well be part
 * of documentation.
 */
export function keysOf(project: ServiceProject, agentEnv: Record<string, string>, env: Env): string[] {
  const given = Object.entries(agentEnv).flatMap(([name, value]) => {
    const looksLikeKey = /^(?=.*\d)(?=.*[A-Za-z])\S{20,}$/.test(value) && !value.includes("://");
    return SECRET_NAME.test(name) || looksLikeKey ? [value] : [];
  });
  const named = [
    ...gitVariables(project).map(({ name }) => name),
    ...project.models.map(({ keyEnv }) => keyEnv),
  ];
  return [...given, ...named.flatMap((name) => envValue(env, name) ?? [])];
}
