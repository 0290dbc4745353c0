/** What a newcomer could ask for, in so many words, in the default project. */
export const SUGGESTED_PROMPTS = [
  "Fix the typos in the docs",
  "Fix the broken links in the docs",
  "Update old commands in the docs",
] as const;
