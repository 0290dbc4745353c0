export const DEFAULTS = { jobs: 4, format: "text" } as const;
