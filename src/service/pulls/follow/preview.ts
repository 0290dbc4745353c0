import { MAX_URL_CHARS } from "../../../shared/contract/pull-request.ts";
import type { ServiceProject } from "../../config/config.ts";
import { changedAddresses, isHttpsOn, siteFolder } from "../../config/page-address.ts";
import type { PullFacts } from "../code-host/github-pull-facts.ts";

/** The settings that say where a project's pages can be looked at. */
export type PreviewSettings = Pick<ServiceProject, "previewHosts" | "liveUrl">;

/**
 * The address at which a pull request's change can be looked at: the newest deployment of its head
 * commit on one of the project's hosts, and there the page that changes most. Null if there is
 * none.
 */
export function previewOf(
  { deployedTo, pages }: Pick<PullFacts, "deployedTo" | "pages">,
  { previewHosts, liveUrl }: PreviewSettings,
): string | null {
  const site = deployedTo
    .map((address) => URL.parse(address))
    .find((url) => url !== null && isHttpsOn(previewHosts, url));
  if (!site) return null;
  const [page] = liveUrl === undefined ? [] : changedAddresses(liveUrl, pages, 1);
  if (liveUrl === undefined || page === undefined) return site.href;
  const path = new URL(page.url).pathname;
  const folder = siteFolder(liveUrl);
  const start = site.pathname.replace(/\/+$/, "");
  const isInFolder = folder !== "" && start.endsWith(folder);
  const address = `${site.origin}${start}${isInFolder ? path.slice(folder.length) : path}`;
  return address.length <= MAX_URL_CHARS ? address : site.href;
}
