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

/** What is wrong with a variable that is to hold a token or a key, and that the setting at `place` names. Doesn't show its value. */
export function variableFaults(place: string, name: string, env: Env): string[] {
  const value = (env[name] ?? "").trim();
  if (value === "") return [`${place} names ${name}, which is not set. Set it in the environment.`];
  // Such as the … of an example. Only user:password may have any.
  if (!value.includes(":") && /[^\x20-\x7e]/.test(value)) {
    return [`${place} names ${name}, which has characters that no token or key has. Set it again.`];
  }
  return [];
}
