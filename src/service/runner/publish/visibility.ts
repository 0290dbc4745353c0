import { RunError } from "../../base/run-error.ts";
import { repositoryKind } from "../../config/repository.ts";
import type { ServiceProject } from "../../config/config.ts";
import type { TurnContext } from "../turn-context.ts";
import { repositoryAt } from "./hosted-pages.ts";

type Asking = Pick<TurnContext, "codeHost" | "signal">;

/** True if everybody can read what is pushed. If that isn't known, it counts as public. */
export async function arePublicDocs(
  { repository }: Pick<ServiceProject, "repository">,
  { codeHost, signal }: Asking,
): Promise<boolean> {
  if (codeHost === null) return repositoryKind(repository) !== "local";
  return (await codeHost.isPublic(signal)) ?? true;
}

/** True if everybody can read a context repository. If that isn't known, it counts as private. */
export async function isPublicContext(
  { codeHost: settings }: Pick<ServiceProject, "codeHost">,
  { repository }: { repository: string },
  { codeHost, signal }: Asking,
): Promise<boolean> {
  const hosted = settings.kind === "none" ? null : repositoryAt(settings, repository);
  if (hosted === null || codeHost === null) return false;
  const isPublic = await codeHost.isPublic(signal, hosted).catch((error: unknown) => {
    if (error instanceof RunError) return null;
    throw error;
  });
  return isPublic === true;
}
