/** The project of that name, as configured; the default for null; undefined when there is none of that name. */
export function findProject(projects: [string, ...string[]], name: string | null): string | undefined {
  if (name === null) return projects[0];
  return projects.find((project) => project.toLowerCase() === name.toLowerCase());
}
