import { z } from "zod";
import { storedObject } from "../../shared/contract/reading.ts";

/**
 * A docs project at a job service. `service` and `id` identify it; `name`, its short name, is what
 * people type and read.
 */
export const ProjectRef = storedObject({
  /** The job service's base URL, as {@link serviceOf} writes it. */
  service: z.string(),
  /** `projectId` at that service. */
  id: z.string(),
  name: z.string(),
});
export type ProjectRef = z.infer<typeof ProjectRef>;

/**
 * Removes from a base URL what doesn't distinguish services: credentials, query, fragment and
 * trailing slashes.
 */
export function serviceOf(baseUrl: string): string {
  const url = new URL(baseUrl);
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Identifies a project regardless of its name. */
export function projectKey(project: Pick<ProjectRef, "service" | "id">): string {
  return `${project.service} ${project.id}`;
}

/** Identifies a job across all projects. Job ids are only unique within one service. */
export function jobKey(project: Pick<ProjectRef, "service" | "id">, jobId: string): string {
  return `${projectKey(project)} ${jobId}`;
}
