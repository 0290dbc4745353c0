import type { CommitRecords, Deployment, DeploymentStatus } from "../commit-records.ts";
import type { Holder } from "../tokens.ts";
import { isPermitted } from "./app-permissions.ts";
import { connection, type Page } from "./graphql-connection.ts";
import { fault } from "./graphql-faults.ts";

/** The words of `DeploymentState` for states whose own word it doesn't have. */
const STATES: Partial<Record<DeploymentStatus["state"], string>> = { success: "ACTIVE" };

/**
 * See `Commit.deployments` in docs.github.com/graphql/reference/objects. They are in order, oldest
 * first.
 */
export function deploymentsOf(
  caller: Holder,
  records: CommitRecords,
  oid: string,
  page: Page & { environments?: string[] | null },
): object {
  if (!isPermitted(caller, { permission: "deployments", level: "read" })) {
    throw fault("FORBIDDEN", "Resource not accessible by integration");
  }
  const found = records
    .deployments()
    .filter(({ sha }) => sha === oid)
    .filter(({ environment }) => page.environments?.includes(environment) ?? true);
  return connection(found.map(deploymentNode), page);
}

function deploymentNode(deployment: Deployment): object {
  const last = deployment.statuses.at(-1);
  return {
    id: `DE_${deployment.id}`,
    databaseId: deployment.id,
    commitOid: deployment.sha,
    environment: deployment.environment,
    latestEnvironment: last?.environment ?? deployment.environment,
    task: deployment.task,
    description: deployment.description,
    createdAt: deployment.createdAt,
    updatedAt: last?.createdAt ?? deployment.createdAt,
    state: last === undefined ? "PENDING" : (STATES[last.state] ?? last.state.toUpperCase()),
    latestStatus: last === undefined ? null : statusNode(last),
    statuses: (page: Page) => connection(deployment.statuses.toReversed().map(statusNode), page),
  };
}

function statusNode(status: DeploymentStatus): object {
  return {
    id: `DES_${status.id}`,
    state: status.state.toUpperCase(),
    description: status.description,
    environment: status.environment,
    environmentUrl: status.environmentUrl === "" ? null : status.environmentUrl,
    logUrl: status.logUrl === "" ? null : status.logUrl,
    createdAt: status.createdAt,
    updatedAt: status.createdAt,
  };
}
