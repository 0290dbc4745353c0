import { anyEnding, PAGE_ENDINGS } from "../base/page-endings.ts";
import { findRule, type HostRule, parseHostRule } from "../network/egress/find-route.ts";
import { isSafeHttpUrl } from "./repository.ts";

/** A page's place in `liveUrl`, with the folder of the repository that the site is made of. */
const PLACE = /\{((?:[\w@.-]+\/)*)path\}/;
const MAX_CHARS = 2000;

/** True if `liveUrl` can be this: an address with a place for the page in its path. */
export function isLiveUrl(value: string): boolean {
  const [before = "", , after = "", ...more] = value.split(PLACE);
  if (!PLACE.test(value) || more.length > 0 || /[{}?#\s]/.test(before + after)) return false;
  return /^https?:\/\/[^/]+\//i.test(before) && isSafeHttpUrl(before + after);
}

/**
 * The address of a page on the site, or null if it has none there. `path` is the page's path in the
 * repository. An address has no ending of the file's name, and no `index` or `README` unless it
 * ends in `.html`. What lies in a folder such as `_partials` or `.github` is no page of the site.
 */
export function pageAddress(liveUrl: string, path: string): string | null {
  const [before = "", folder = "", after = ""] = liveUrl.split(PLACE);
  if (!path.startsWith(folder) || !PAGE.test(path)) return null;
  const folders = path.slice(folder.length).replace(PAGE, "").split("/");
  if (folders.some((part) => /^[._]|^$/.test(part))) return null;
  const name = folders.pop() ?? "";
  const isIndex = /^(?:index|readme)$/i.test(name);
  const isNamed = !isIndex || after.startsWith(".html");
  const parts = [...folders, ...(isNamed ? [isIndex ? "index" : name] : [])];
  const place = parts.map(encodeURIComponent).join("/");
  const address = before + place + (place === "" ? after.replace(/^\//, "") : after);
  return address.length <= MAX_CHARS ? address : null;
}

const PAGE = anyEnding(PAGE_ENDINGS);

/** A page that a pull request changes, with the lines that it gets. */
export type HostedPage = { path: string; additions: number };

/** The addresses of the pages, the one with most new lines first, at most `max`. */
export function changedAddresses(
  liveUrl: string,
  pages: readonly HostedPage[],
  max: number,
): { path: string; url: string }[] {
  return pages
    .toSorted((one, other) => other.additions - one.additions)
    .flatMap(({ path }) => {
      const url = pageAddress(liveUrl, path);
      return url === null ? [] : { path, url };
    })
    .slice(0, max);
}

/** Where the site begins in its addresses: `/docs` of `https://acme.com/docs/{path}`. */
export function siteFolder(liveUrl: string): string {
  const [before = ""] = liveUrl.split(PLACE);
  return new URL(before).pathname.replace(/[^/]*$/, "").replace(/\/$/, "");
}

/**
 * True if an address is https on one of the hosts, which the settings name as in `network.allow`.
 */
export function isHttpsOn(hosts: readonly string[], url: URL): boolean {
  const { protocol, hostname, port, username, password } = url;
  if (protocol !== "https:" || username !== "" || password !== "") return false;
  const rules = hosts.map(parseHostRule).filter((rule) => rule !== null);
  return findRule(rules, { host: hostname, port: Number(port || 443) }) !== null;
}

/** Says by an example which address a page has. */
export function addressExample(liveUrl: string): string {
  const [, folder = ""] = liveUrl.split(PLACE);
  const path = `${folder}guides/install.md`;
  return `${path} is at ${pageAddress(liveUrl, path)}`;
}

/**
 * The host of the site, as a rule of `network.allow`. It has a port only if the setting writes one.
 */
export function liveHost(liveUrl: string): HostRule | null {
  const [, host = ""] = /^https?:\/\/([^/]+)\//i.exec(liveUrl) ?? [];
  return parseHostRule(host);
}
