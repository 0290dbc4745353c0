import type { Deployment, DeploymentStatus } from "./commit-records.ts";
import type { Host } from "./host.ts";
import type { PullRequests } from "./pull-requests.ts";

/** Stores a new deployment. It has no state yet. */
export async function addDeployment(
  host: Host,
  { records }: PullRequests,
  wanted: Omit<Deployment, "id" | "createdAt" | "statuses">,
): Promise<Deployment> {
  const deployment = { ...wanted, id: records.nextId(), createdAt: timeOf(host), statuses: [] };
  await records.saveDeployments([deployment]);
  return deployment;
}

/**
 * Adds a status to a deployment. One that succeeded ends the earlier ones in the same environment,
 * except for transient ones and those in production. If `endsOthers` is false (`auto_inactive`), it
 * ends none.
 */
export async function addDeploymentStatus(
  host: Host,
  { records, repository }: PullRequests,
  deployment: Deployment,
  wanted: Omit<DeploymentStatus, "id" | "createdAt"> & { endsOthers: boolean },
): Promise<DeploymentStatus> {
  const { endsOthers, ...given } = wanted;
  const createdAt = timeOf(host);
  const status: DeploymentStatus = { ...given, id: records.nextId(), createdAt };
  const ended =
    endsOthers && status.state === "success"
      ? records.deployments().filter((other) => isEndedBy(deployment, other))
      : [];
  await records.saveDeployments([
    { ...deployment, statuses: [...deployment.statuses, status] },
    ...ended.map((other, index) => {
      const inactive = { ...status, id: status.id + index + 1, state: "inactive" as const };
      return { ...other, statuses: [...other.statuses, { ...inactive, environmentUrl: "", logUrl: "" }] };
    }),
  ]);
  host.tell({ kind: "deployment-status", deployment, status, repository, sender: status.creator });
  return status;
}

function isEndedBy(deployment: Deployment, other: Deployment): boolean {
  return (
    other.id < deployment.id &&
    other.environment === deployment.environment &&
    !other.isTransient &&
    !other.isProduction &&
    other.statuses.at(-1)?.state === "success"
  );
}

function timeOf(host: Host): string {
  return `${host.now().toISOString().slice(0, 19)}Z`;
}
