import type { Known } from "./compare.ts";

/** Returns what the installed SDKs know. Throws if they aren't installed. */
export function readSdks(): Known;
