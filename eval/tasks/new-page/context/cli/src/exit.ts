export const EXIT = { ok: 0, unreachable: 1, usage: 2, timedOut: 4 } as const;
