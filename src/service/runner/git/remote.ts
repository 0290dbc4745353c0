import { isAbsolute } from "node:path";
import { TurnFailedError } from "../run-error.ts";

/** Where a repository is fetched from and pushed to. */
export type Remote = {
  /** Without credentials: it appears in arguments. */
  url: string;
  kind: "http" | "ssh" | "local";
  /** Configuration that carries the credentials, to be given by environment; empty where none are needed. */
  credentials: ReadonlyArray<readonly [key: string, value: string]>;
};

/** `user@host:path`, with a host that ssh cannot take for an option. */
const SCP_LIKE = /^[A-Za-z0-9._-]+@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s:-][^\s]*$/;

/**
 * The remote of a project's repository. `credentials`, a token or `user:password`, go out as a header and to that origin only;
 * over ssh the operator's ssh agent answers. Throws for addresses that are neither http(s), ssh nor an absolute path, and for
 * ones that hold a password.
 */
export function remoteOf(repository: string, credentials: string | null): Remote {
  if (isAbsolute(repository)) return { url: repository, kind: "local", credentials: [] };
  if (SCP_LIKE.test(repository)) return { url: repository, kind: "ssh", credentials: [] };
  const url = URL.parse(repository);
  if (!url || !["https:", "http:", "ssh:"].includes(url.protocol)) {
    throw new TurnFailedError(
      "The project's repository is no address that can be used. Put an https or ssh URL or an absolute path.",
    );
  }
  if (url.password !== "" || (url.protocol !== "ssh:" && url.username !== "")) {
    throw new TurnFailedError(
      "The project's repository URL holds credentials. Take them out, and name the variable that holds them.",
    );
  }
  if (url.protocol === "ssh:") return { url: url.href, kind: "ssh", credentials: [] };
  if (credentials === null) return { url: url.href, kind: "http", credentials: [] };
  return {
    url: url.href,
    kind: "http",
    credentials: [[`http.${url.origin}/.extraHeader`, `Authorization: Basic ${basicOf(credentials)}`]],
  };
}

/** GitHub, GitLab and Gitea all take a token as the password of any user. */
function basicOf(credentials: string): string {
  const pair = credentials.includes(":") ? credentials : `x-access-token:${credentials}`;
  return Buffer.from(pair).toString("base64");
}
