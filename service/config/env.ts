import { type ProxySettings, readProxySettings } from "../../src/process/proxy.ts";

/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The value of a variable, without white space around it; null: it isn't set, or empty. */
export function envValue(env: Env, name: string): string | null {
  const value = env[name]?.trim() ?? "";
  return value === "" ? null : value;
}

/** Those of the named variables that are set. */
export function pickEnv(env: Env, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/**
 * The variables that git and the code host are used with, and where the settings of a project name
 * them.
 */
export function gitVariables({
  codeHost,
  gitCredentialsEnv = null,
  context,
}: NamesGitVariables): NamedVariable[] {
  const { tokenEnv = null, webhookSecretEnv = null } = codeHost.kind === "github" ? codeHost : {};
  return [
    { place: "codeHost.tokenEnv", name: tokenEnv },
    { place: "codeHost.webhookSecretEnv", name: webhookSecretEnv },
    { place: "gitCredentialsEnv", name: gitCredentialsEnv },
    ...context.map((each, index) => ({
      place: `context[${index}].gitCredentialsEnv`,
      name: each.gitCredentialsEnv ?? null,
    })),
  ].flatMap(({ place, name }) => (name === null ? [] : [{ place, name }]));
}
type NamesGitVariables = {
  codeHost:
    | { kind: "github"; tokenEnv?: string | undefined; webhookSecretEnv?: string | undefined }
    | { kind: "none" };
  gitCredentialsEnv?: string | null | undefined;
  context: readonly { gitCredentialsEnv?: string | undefined }[];
};

/** A setting that names a variable, which is to hold a token or a key. */
export type NamedVariable = { place: string; name: string };

/**
 * What is wrong with the variables that settings name, each variable once. Doesn't show their
 * values.
 */
export function variableFaults(named: readonly NamedVariable[], env: Env): string[] {
  return [...new Set(named.map(({ name }) => name))].flatMap((name) => {
    const places = named.filter((one) => one.name === name).map(({ place }) => place);
    const who = `${places.join(" and ")} ${places.length === 1 ? "names" : "name"} ${name}`;
    const value = (env[name] ?? "").trim();
    if (value === "") return [`${who}, which is not set. Set it in the environment or in .env.`];
    // Such as the … of an example. Only user:password may have any.
    if (!value.includes(":") && /[^\x20-\x7e]/.test(value)) {
      return [`${who}, which has characters that no token or key has. Set it again.`];
    }
    return [];
  });
}

/** As git and we read them: with and without brackets. */
const THIS_MACHINE = ["localhost", "127.0.0.1", "::1", "[::1]"];

/**
 * The operator's way out, as the service goes it: never to this machine. Plain http is allowed
 * there alone, and what goes over it (keys, prompts) must not come to a proxy.
 */
export function serviceProxy(env: Env): ProxySettings {
  const { proxy } = readProxySettings(env);
  if (proxy.none === "*") return proxy;
  return { ...proxy, none: [proxy.none, ...THIS_MACHINE].filter((name) => name !== "").join(",") };
}
