import type { Context } from "hono";

/**
 * Returns the requested page of a list by `page` and `per_page` (30, at most 100), and sets
 * GitHub's `Link` header.
 */
export function pageOf<Item>(context: Context, items: readonly Item[], apiUrl: string): Item[] {
  const size = Math.min(positive(context.req.query("per_page")) ?? 30, 100);
  const page = positive(context.req.query("page")) ?? 1;
  const last = Math.max(1, Math.ceil(items.length / size));
  const links = [
    ...(page > 1 ? [link(context, apiUrl, page - 1, "prev")] : []),
    ...(page < last ? [link(context, apiUrl, page + 1, "next"), link(context, apiUrl, last, "last")] : []),
    ...(page > 1 ? [link(context, apiUrl, 1, "first")] : []),
  ];
  if (links.length > 0) context.header("link", links.join(", "));
  return items.slice((page - 1) * size, page * size);
}

function link(context: Context, apiUrl: string, page: number, relation: string): string {
  const asked = new URL(context.req.url);
  const target = new URL(asked.pathname + asked.search, apiUrl);
  target.searchParams.set("page", String(page));
  return `<${target.href}>; rel="${relation}"`;
}

function positive(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined;
}
