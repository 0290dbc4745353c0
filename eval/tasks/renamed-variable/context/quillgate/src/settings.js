/** What the process was started with. */
export function readSettings(env) {
  return {
    database: needed(env, "QUILLGATE_DATABASE_URL", "QUILLGATE_DB_URL"),
    pool: Number(env.QUILLGATE_DB_POOL ?? 10),
    replica: env.QUILLGATE_REPLICA_DB_URL ?? null,
    port: Number(env.QUILLGATE_PORT ?? 7300),
    signingKey: needed(env, "QUILLGATE_SIGNING_KEY"),
  };
}

/** `former`: a name that is read until 5.0. */
function needed(env, name, former) {
  if (env[name]) return env[name];
  if (former && env[former]) {
    console.warn(`${former} is deprecated, use ${name}`);
    return env[former];
  }
  throw new Error(`quillgate: ${name} isn't set`);
}
