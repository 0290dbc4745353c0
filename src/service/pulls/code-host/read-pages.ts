import { MAX_ITEMS } from "./bounded-list.ts";
import type { Asked, GitHubApi } from "./github-api.ts";

const PAGE = 100;
const MAX_PAGES = MAX_ITEMS / PAGE;
const HAS_NEXT = /\brel="?next\b/;

/**
 * Reads a list page by page, at most {@link MAX_ITEMS} of it, until `isEnough` says so of what is
 * read.
 */
export async function readPages<Item>(
  api: GitHubApi,
  asked: Asked<Item[]>,
  {
    route,
    params = {},
    isEnough = () => false,
  }: { route: string; params?: Record<string, unknown>; isEnough?: (read: Item[]) => boolean },
): Promise<Item[]> {
  const read: Item[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const { data, headers } = await api.answer(asked, route, { ...params, per_page: PAGE, page });
    read.push(...data);
    const { link } = headers;
    // Not every host has such a header.
    const isLast = data.length < PAGE && !(typeof link === "string" && HAS_NEXT.test(link));
    if (isLast || isEnough(read)) break;
  }
  return read;
}
