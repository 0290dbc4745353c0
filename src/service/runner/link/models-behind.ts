import type { ServiceModel } from "../../config/env.ts";

/**
 * Where a runner elsewhere calls models: at the job service, with the key of its lease. `url` ends
 * without a slash.
 */
export type ModelDoorAddress = { url: string; key: string };

/**
 * A project as a runner elsewhere sees it: its models are below the service's `url`. `env` goes
 * over the runner's own environment, and has the lease's key where the provider's would be. So the
 * runner's gateway takes the service for the provider.
 */
export function modelsBehind<Project extends { models: readonly ServiceModel[] }>(
  project: Project,
  { url, key }: ModelDoorAddress,
): { project: Project & { models: ServiceModel[] }; env: Record<string, string> } {
  const models = project.models.map((model) => ({
    ...model,
    // All kinds take an address that ends with a version. Without one, those that add their own
    // would take a name such as `v1` for it.
    baseUrl: `${url}/models/${model.name}/v1`,
  }));
  return {
    project: { ...project, models },
    env: Object.fromEntries(models.map(({ keyEnv }) => [keyEnv, key])),
  };
}
