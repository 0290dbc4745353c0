import { fault } from "./graphql-faults.ts";

/** The arguments of a connection. */
export type Page = {
  first?: number | null;
  last?: number | null;
  after?: string | null;
  before?: string | null;
};

/**
 * Returns one page of a list (docs.github.com/graphql/guides/using-pagination-in-the-graphql-api).
 * `first` or `last` must bound every connection, from 1 to 100.
 */
export function connection(items: readonly object[], { first, last, after, before }: Page): object {
  const bound = first ?? last;
  if (bound === undefined || bound === null) {
    const message = "You must provide a `first` or `last` value to properly paginate the connection.";
    throw fault("MISSING_PAGINATION_BOUNDARIES", message);
  }
  if (bound < 1 || bound > 100) {
    throw fault("EXCESSIVE_PAGINATION", `Requesting ${bound} records exceeds the limit of 100 records.`);
  }
  const from = typeof after === "string" ? placeOf(after) + 1 : 0;
  const to = typeof before === "string" ? placeOf(before) : items.length;
  const start = typeof first === "number" ? from : Math.max(from, to - bound);
  const end = typeof first === "number" ? Math.min(to, from + bound) : to;
  const nodes = items.slice(start, end);
  return {
    nodes,
    totalCount: items.length,
    pageInfo: {
      hasPreviousPage: start > 0,
      hasNextPage: end < items.length,
      startCursor: nodes.length === 0 ? null : cursorOf(start),
      endCursor: nodes.length === 0 ? null : cursorOf(end - 1),
    },
  };
}

function cursorOf(place: number): string {
  return Buffer.from(`cursor:${place}`).toString("base64");
}

function placeOf(cursor: string): number {
  const place = /^cursor:(\d+)$/.exec(Buffer.from(cursor, "base64").toString("utf8"))?.[1];
  if (place !== undefined) return Number(place);
  const words = `\`${cursor}\` does not appear to be a valid cursor.`;
  throw fault("INVALID_CURSOR_ARGUMENTS", words);
}
