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
