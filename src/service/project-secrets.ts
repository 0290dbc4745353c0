import { proxySecretsOf, readProxySettings } from "../proxy-settings.ts";
import type { ServiceProject } from "./config.ts";
import { type Env, envValue } from "./env.ts";

/** Shorter values (a flag, a locale) are words of everyday text more often than secrets. */
const MIN_LENGTH = 8;

/**
 * The values of the variables that a project names, to be kept out of whatever leaves the process: what git, the code host and models are
 * used with, what the agent gets, and the passwords of proxies.
 */
export function projectSecrets(
  {
    codeHost,
    gitCredentialsEnv,
    models,
    agentEnv,
  }: Pick<ServiceProject, "codeHost" | "gitCredentialsEnv" | "models" | "agentEnv">,
  env: Env,
): string[] {
  const names = [
    ...(codeHost.kind === "github" ? [codeHost.tokenEnv] : []),
    ...(gitCredentialsEnv === null ? [] : [gitCredentialsEnv]),
  ];
  const given = names.flatMap((name) => envValue(env, name) ?? []);
  const passwords = given.map((value) => value.slice(value.indexOf(":") + 1));
  const others = [...models.map(({ keyEnv }) => keyEnv), ...agentEnv].flatMap(
    (name) => envValue(env, name) ?? [],
  );
  const ofProxies = proxySecretsOf(readProxySettings(env).proxy);
  return [...new Set([...given, ...passwords, ...others, ...ofProxies])].filter(
    (value) => value.length >= MIN_LENGTH,
  );
}
