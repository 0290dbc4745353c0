import { isAbsolute } from "node:path";
import { repositoryKind } from "../../config/repository.ts";
import { TurnFailedError } from "../../base/run-error.ts";

/** Where a repository is fetched from and pushed to. */
export type Remote = {
  /** Without credentials: it appears in arguments. */
  url: string;
  kind: "http" | "ssh" | "local";
  /**
   * Configuration that carries the credentials, to be given by environment; empty where none are
   * needed.
   */
  credentials: ReadonlyArray<readonly [key: string, value: string]>;
};

/**
 * The remote of a project's repository. `credentials`, a token or `user:password`, go out as a
 * header and to that origin only; over ssh the operator's ssh agent answers. Throws for an address
 * that is not allowed, and for a path that is not absolute.
 */
export function remoteOf(repository: string, credentials: string | null): Remote {
  const kind = repositoryKind(repository);
  if (kind === null || (kind === "local" && !isAbsolute(repository))) {
    throw new TurnFailedError("The project's repository isn't set up correctly.", {
      details: ["repository must be an https or ssh URL without credentials, or an absolute path."],
    });
  }
  const url = URL.parse(repository);
  if (kind === "local" || url === null) return { url: repository, kind, credentials: [] };
  if (kind === "ssh" || credentials === null) return { url: url.href, kind, credentials: [] };
  return {
    url: url.href,
    kind,
    credentials: [[`http.${url.origin}/.extraHeader`, `Authorization: Basic ${basicOf(credentials)}`]],
  };
}

/** GitHub, GitLab and Gitea all take a token as the password of any user. */
function basicOf(credentials: string): string {
  const pair = credentials.includes(":") ? credentials : `x-access-token:${credentials}`;
  return Buffer.from(pair).toString("base64");
}
