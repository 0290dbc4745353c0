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

/** A setting that names a variable, which is to hold a token or a key. */
export type NamedVariable = { place: string; name: string };

/** What is wrong with the variables that settings name, each variable once. Doesn't show their values. */
export function variableFaults(named: readonly NamedVariable[], env: Env): string[] {
  return [...new Set(named.map(({ name }) => name))].flatMap((name) => {
    const places = named.filter((one) => one.name === name).map(({ place }) => place);
    const who = `${places.join(" and ")} ${places.length === 1 ? "names" : "name"} ${name}`;
    const value = (env[name] ?? "").trim();
    if (value === "") return [`${who}, which is not set. Set it in the environment.`];
    // Such as the … of an example. Only user:password may have any.
    if (!value.includes(":") && /[^\x20-\x7e]/.test(value)) {
      return [`${who}, which has characters that no token or key has. Set it again.`];
    }
    return [];
  });
}
