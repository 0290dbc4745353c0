import { basename } from "node:path";
import type { ServiceProject } from "../config.ts";

/** The repository as a job's record names it: `owner/repo` at a code host, the URL, or a local repository's own name. */
export function sourceName({ codeHost, repository }: ServiceProject): string {
  if (codeHost.kind === "github") return `${codeHost.owner}/${codeHost.repo}`;
  // The paths of this machine are nobody else's business.
  return repository.startsWith("/") ? basename(repository, ".git") : repository;
}
