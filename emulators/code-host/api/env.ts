/** What the middleware leaves for the routes: whether the caller's token may write. */
export type ApiEnv = { Variables: { canPush: boolean } };
