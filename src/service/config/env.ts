import { type ProxySettings, proxySecretsOf, readProxySettings } from "../../shared/machine/proxy.ts";
import { oddValue } from "../../shared/text/odd-value.ts";
import { parseHostRule } from "../network/egress/find-route.ts";
import type { ServiceSettings } from "./config-schema.ts";

/** A provider of models. It holds no key: `keyEnv` names an environment variable. */
export type ServiceModel = ServiceSettings["models"][number] & { baseUrl: string };

/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The value of a variable, trimmed. Null if it isn't set or is empty. */
export function envValue(env: Env, name: string): string | null {
  const value = env[name]?.trim() ?? "";
  return value === "" ? null : value;
}

/** The named variables that are set. */
export function pickEnv(env: Env, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

type ProjectSettings = ServiceSettings["projects"][number];
type NamesGitVariables = Pick<ProjectSettings, "codeHost" | "context"> & {
  gitCredentialsEnv?: string | null | undefined;
};

/** The variables for git and the code host, and where a project's settings name them. */
export function gitVariables({ codeHost, gitCredentialsEnv, context }: NamesGitVariables): NamedVariable[] {
  const { tokenEnv, webhookSecretEnv } = codeHost.kind === "github" ? codeHost : {};
  return [
    { place: "codeHost.tokenEnv", name: tokenEnv },
    { place: "codeHost.webhookSecretEnv", name: webhookSecretEnv },
    { place: "gitCredentialsEnv", name: gitCredentialsEnv },
    ...context.map((each, index) => ({
      place: `context[${index}].gitCredentialsEnv`,
      name: each.gitCredentialsEnv,
    })),
  ].flatMap(({ place, name }) => (name ? [{ place, name }] : []));
}

/** A setting that names a variable, which should hold a token or a key. */
export type NamedVariable = { place: string; name: string };

/** Faults of the variables that settings name, each variable once. Shows no values. */
export function variableFaults(named: readonly NamedVariable[], env: Env): string[] {
  return [...Map.groupBy(named, ({ name }) => name)].flatMap(([name, uses]) => {
    const places = uses.map(({ place }) => place);
    const who = `${places.join(" and ")} ${places.length === 1 ? "names" : "name"} ${name}`;
    const value = envValue(env, name);
    if (value === null) return [`${who}, which is not set. Set it in the environment or in .env.`];
    const odd = oddValue(value);
    if (odd !== null) return [`${who}, which ${odd}`];
    // For example the … of an example. Only user:password may contain such characters.
    if (!value.includes(":") && /[^\x20-\x7e]/.test(value)) {
      return [`${who}, which has characters that no token or key has. Set it again.`];
    }
    return [];
  });
}

/** In the forms that git and we read, with and without brackets. */
const THIS_MACHINE = ["localhost", "127.0.0.1", "::1", "[::1]"];

/**
 * The operator's proxy, as the service uses it: never for this machine. Plain http is only allowed
 * to this machine, and what goes over it (keys, prompts) must not reach a proxy.
 */
export function serviceProxy(env: Env): ProxySettings {
  const { proxy } = readProxySettings(env);
  if (proxy.none === "*") return proxy;
  return { ...proxy, none: [proxy.none, ...THIS_MACHINE].filter((name) => name !== "").join(",") };
}

/** Shorter values, such as a flag or a locale, are more often everyday words than secrets. */
const MIN_LENGTH = 8;

/**
 * The values of a project's variables, which must be kept out of everything that leaves the
 * process: the credentials for git, the code host and models, the agent's variables, and the
 * passwords of proxies.
 */
export function projectSecrets(
  project: NamesGitVariables & Pick<ProjectSettings, "agentEnv"> & { models: readonly { keyEnv: string }[] },
  env: Env,
): string[] {
  const given = gitVariables(project).flatMap(({ name }) => envValue(env, name) ?? []);
  const passwords = given.map((value) => value.slice(value.indexOf(":") + 1));
  const others = [...project.models.map(({ keyEnv }) => keyEnv), ...project.agentEnv].flatMap(
    (name) => envValue(env, name) ?? [],
  );
  const ofProxies = proxySecretsOf(readProxySettings(env).proxy);
  return [...new Set([...given, ...passwords, ...others, ...ofProxies])].filter(
    (value) => value.length >= MIN_LENGTH,
  );
}

type NetworkSettings = Pick<ProjectSettings, "network" | "budget" | "limits"> & {
  models: readonly ServiceModel[];
};

/** A project's network settings, with the models' keys and the proxy from the environment. */
export function networkOf({ network, models, budget, limits }: NetworkSettings, env: Env) {
  return {
    allow: network.allow.map(parseHostRule).filter((rule) => rule !== null),
    maxBytes: network.maxBytes,
    models: models.map((model) => ({ ...model, key: envValue(env, model.keyEnv) ?? "" })),
    budget: {
      tokens: budget.tokens ?? null,
      usd: budget.usd ?? null,
      countsMoney: limits.usdPerDay !== undefined || limits.usdPerMonth !== undefined,
    },
    proxy: serviceProxy(env),
  };
}
