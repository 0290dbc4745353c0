import { StartError } from "../../shared/errors.ts";
import type { ServiceConfig } from "../config/config.ts";

/** The settings that commands on the service's state need. */
export type CommandSettings = Pick<ServiceConfig, "projects" | "keyPrefix" | "jobsAtOnce" | "publicBaseUrl">;

/** Throws a {@link StartError} that names the projects if the settings have none with this id. */
export function assertProject(id: string, { projects }: Pick<CommandSettings, "projects">): void {
  if (projects.some((project) => project.id === id)) return;
  const known = projects.map((project) => project.id).join(", ");
  throw new StartError(`There is no project ${JSON.stringify(id)} in the settings. Known: ${known}.`);
}
