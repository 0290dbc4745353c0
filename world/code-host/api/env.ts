import type { Caller } from "../tokens.ts";

/** What the middleware leaves for the routes: who calls, and whether their token may write. */
export type ApiEnv = { Variables: { canPush: boolean; caller: Exclude<Caller, "refused"> } };
