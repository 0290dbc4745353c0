import { StartError } from "../../start-error.ts";
import type { ServiceConfig } from "../config.ts";

/** What a command answers that names a project which the settings don't have. */
export function noSuchProject(id: string, { projects }: ServiceConfig): StartError {
  const known = projects.map((project) => project.id).join(", ");
  return new StartError(`There is no project ${JSON.stringify(id)} in the settings. Known: ${known}.`);
}
