import type { ProjectRef } from "../core/project.ts";

/** The project of that short name; the default for null; undefined when there is none of that name. */
export function findProject(
  projects: readonly [ProjectRef, ...ProjectRef[]],
  name: string | null,
): ProjectRef | undefined {
  if (name === null) return projects[0];
  return projects.find((project) => project.name.toLowerCase() === name.toLowerCase());
}

export function namesOf(projects: readonly ProjectRef[]): string[] {
  return projects.map(({ name }) => name);
}
