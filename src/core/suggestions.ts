import { cut } from "./text.ts";

const NAME_MAX = 40;

/** What a newcomer could ask for, in so many words: prompts for the default project, `projects[0]`. Of 75 characters at most. */
export function suggestedPrompts(projects: readonly string[]): string[] {
  const [name = ""] = projects;
  const docs = projects.length > 1 ? `the ${cut(name, NAME_MAX)} docs` : "the docs";
  return [`Fix the typos in ${docs}`, `Fix the broken links in ${docs}`, `Update old commands in ${docs}`];
}
