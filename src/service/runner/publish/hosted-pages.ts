import type { GitHubSettings } from "../../config/config.ts";

type CodeHost = Pick<GitHubSettings, "apiUrl">;
/** A repository of the project's own code host. */
export type HostedRepository = { owner: string; repo: string };

const SSH_ADDRESS = /^(?:ssh:\/\/)?[\w.-]+@(?<host>[\w.-]+)(?::\d+\/|[:/])(?<path>.+)$/;
const PART = /^(?!\.{1,2}$)[\w.-]{1,100}$/;

/**
 * The address of the code host's pages, derived from its API's address. Null if that doesn't tell.
 */
function webAddress({ apiUrl }: CodeHost): URL | null {
  const url = URL.parse(apiUrl);
  if (url === null) return null;
  const path = url.pathname.replace(/\/+$/, "");
  if (/\/api\/v\d+$/.test(path)) return new URL(path.replace(/\/api\/v\d+$/, "/"), url.origin);
  return path === "" && url.host.startsWith("api.") ? new URL(`${url.protocol}//${url.host.slice(4)}`) : null;
}

/** The repository at this code host that an address leads to. Null if it is somewhere else. */
export function repositoryAt(codeHost: CodeHost, repository: string): HostedRepository | null {
  const web = webAddress(codeHost);
  if (web === null) return null;
  const { host, path } = addressOf(repository) ?? { host: "", path: "" };
  const base = web.pathname.slice(1);
  if (host !== web.host && host !== web.hostname) return null;
  const parts = path.startsWith(base) ? path.slice(base.length).split("/") : [];
  const [owner = "", repo = ""] = [parts[0], parts[1]?.replace(/\.git$/, "")];
  return parts.length === 2 && PART.test(owner) && PART.test(repo) ? { owner, repo } : null;
}

function addressOf(repository: string): { host: string; path: string } | null {
  if (/^https?:/i.test(repository)) {
    const url = URL.parse(repository);
    return url && { host: url.host, path: url.pathname.slice(1) };
  }
  const { host, path } = SSH_ADDRESS.exec(repository)?.groups ?? {};
  return host === undefined || path === undefined ? null : { host, path: path.replace(/^\//, "") };
}

/**
 * The page of these lines of a file in that commit. Null if the address of the code host's pages
 * isn't known.
 */
export function linesUrl(
  codeHost: CodeHost,
  { owner, repo }: HostedRepository,
  commit: string,
  { path, from, to }: { path: string; from: number; to: number },
): string | null {
  const web = webAddress(codeHost);
  const steps = [owner, repo, "blob", commit, ...path.split("/")].map(encodeStep).join("/");
  return web && `${web.href}${steps}#L${from}${to === from ? "" : `-L${to}`}`;
}

/** Encodes a part of a path, for use in a Markdown link. */
function encodeStep(part: string): string {
  return encodeURIComponent(part).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
