/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Those of the named variables that are set. */
export function pickEnv(env: Env, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
