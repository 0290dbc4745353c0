import type { Caller } from "../tokens.ts";

/**
 * The values that the middleware sets for the routes: the caller, and whether their token may
 * write.
 */
export type ApiEnv = { Variables: { canPush: boolean; caller: Exclude<Caller, "refused"> } };
