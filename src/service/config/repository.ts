import { isIP } from "node:net";

/**
 * `user@host:path`, where neither git nor ssh takes the user, the host or the path for an option.
 */
const SCP_LIKE = /^[A-Za-z0-9._][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s:-][^\s]*$/;

/**
 * The kind of a repository's address, or null if it isn't allowed. `local` is a path, which may be
 * relative.
 */
export function repositoryKind(value: string): "http" | "ssh" | "local" | null {
  if (value.startsWith("-") || /[\p{Cc}]/u.test(value)) return null;
  if (/^https?:\/\//i.test(value)) return isSafeHttpUrl(value) ? "http" : null;
  if (/^ssh:\/\//i.test(value)) {
    const url = URL.parse(value);
    return url !== null && isUsableSshUrl(url) ? "ssh" : null;
  }
  if (SCP_LIKE.test(value)) return "ssh";
  // `ext::…` and the like run programs. Other addresses with a user and a host are meant for ssh,
  // but can't be used.
  return /^[A-Za-z][A-Za-z0-9+.-]*:/.test(value) || /^[^/\s]+@[^/\s]+:/.test(value) ? null : "local";
}

/** Where code hosts show files, commits and pull requests of a repository. */
const PAGE =
  /^(\/[^/]+\/[^/]+?)(?:\/-)?\/(?:tree|blob|raw|edit|commits?|pull|pulls|issues|merge_requests|src)\/./;

/**
 * The repository's address if `value` is the address of a page that a code host shows of it, and
 * otherwise null.
 */
export function repositoryOfPage(value: string): string | null {
  if (repositoryKind(value) !== "http") return null;
  const { origin, pathname } = new URL(value);
  const path = PAGE.exec(pathname)?.[1];
  return path === undefined ? null : `${origin}${path}`;
}

/**
 * A repository's owner and name, from its address at the code host whose API is at `apiUrl`. Null
 * if it is somewhere else.
 */
export function ownerAndRepo(repository: string, apiUrl: string): string | null {
  const [, sshHost, sshPath] = /^[^/\s]+@([^/:\s]+):(.+)$/.exec(repository) ?? [];
  const url = sshHost === undefined ? URL.parse(repository) : URL.parse(`ssh://${sshHost}/${sshPath}`);
  const hosts = [apiUrl, pagesOf(apiUrl)].map((address) => URL.parse(address)?.hostname);
  if (url === null || !hosts.includes(url.hostname)) return null;
  return /([^/]+\/[^/]+?)(?:\.git)?\/*$/.exec(url.pathname)?.[1] ?? null;
}

/** A fork that branches are pushed to: its name at the code host, and its address. */
export type Fork = { owner: string; repo: string; repository: string };

/**
 * The fork that is named `owner/repo`, at the same host as the repository, which is named `of`
 * there. Null if the repository's address doesn't end with that name.
 */
export function forkAt(repository: string, of: string, named: string): Fork | null {
  const [, start, name, end = ""] = /^(.*[/:])([^/:]+\/[^/:]+?)((?:\.git)?\/*)$/.exec(repository) ?? [];
  if (start === undefined || name?.toLowerCase() !== of.toLowerCase()) return null;
  const [owner = "", repo = ""] = named.split("/");
  return { owner, repo, repository: `${start}${named}${end}` };
}

/**
 * True if git can use the URL. ssh would take a user or host that begins with "-" for an option.
 */
function isUsableSshUrl({ username, password, hostname, pathname }: URL): boolean {
  return (
    password === "" &&
    /^(?:[A-Za-z0-9._][A-Za-z0-9._-]*)?$/.test(username) &&
    /^[A-Za-z0-9[]/.test(hostname) &&
    pathname.length > 1
  );
}

/** True if it is an https URL, or http to this machine, without a user name or a password. */
export function isSafeHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  return url.protocol === "http:" && isLoopback(url.hostname);
}

/** True if only this machine reaches what listens at this host. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/**
 * The address of the code host's pages, given its API's address. GitHub's own API is on another
 * host.
 */
export function pagesOf(apiUrl: string): string {
  return apiUrl.replace(/(?:\/api\/v3)?\/*$/, "").replace("://api.", "://");
}

/**
 * The host of the addresses by which a code host knows its accounts' commits
 * (https://docs.github.com/en/account-and-profile/reference/email-addresses-reference). What runs
 * on this machine or by its number stands in for GitHub.
 */
export function noReplyHost(apiUrl: string): string {
  const host = URL.parse(pagesOf(apiUrl))?.hostname ?? "";
  const isStandIn = host === "" || isLoopback(host) || isIP(host.replaceAll(/[[\]]/g, "")) !== 0;
  return `users.noreply.${isStandIn ? "github.com" : host}`;
}

/** True if a repository's address is at the code host whose API is at `apiUrl`. */
export function isAtCodeHost(repository: string, apiUrl: string): boolean {
  const origin = URL.parse(repository)?.origin;
  return origin !== undefined && [apiUrl, pagesOf(apiUrl)].some((url) => URL.parse(url)?.origin === origin);
}
