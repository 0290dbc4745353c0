import { posix } from "node:path";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { z } from "zod";

const Node = z.object({
  type: z.string(),
  value: z.string().optional(),
  url: z.string().optional(),
  get children() {
    return z.array(Node).optional();
  },
});
type Node = z.infer<typeof Node>;

/** Returns a line for each link to a heading that doesn't exist. `pages` holds texts by path. */
export function brokenAnchors(pages: ReadonlyMap<string, string>): string[] {
  const trees = new Map([...pages].map(([path, text]) => [path, nodesIn(text)]));
  const anchors = new Map([...trees].map(([path, nodes]) => [path, anchorsOf(nodes)]));
  return [...trees].flatMap(([path, nodes]) =>
    nodes.flatMap(({ url = "" }) => {
      const [target = "", anchor] = url.split("#");
      if (anchor === undefined || anchor === "" || /^[a-z]+:|^\//i.test(target)) return [];
      const page = target === "" ? path : posix.join(posix.dirname(path), target);
      const known = anchors.get(page);
      return known === undefined || known.has(anchor) ? [] : `${path}: ${page} has no heading #${anchor}`;
    }),
  );
}

/** What {@link brokenAnchors} says of a link. */
export type BrokenAnchor = { path: string; page: string; anchor: string };

/**
 * Reads lines of {@link brokenAnchors}, which may stand in one line with semicolons between them.
 */
export function readBrokenAnchors(text: string): BrokenAnchor[] {
  const found = text.matchAll(/([^\s;]+): ([^\s;]+) has no heading #([^\s;]+)/g);
  return [...found].map(([, path = "", page = "", anchor = ""]) => ({ path, page, anchor }));
}

/** Returns the anchors that GitHub makes from a page's headings. */
export function anchorsIn(text: string): ReadonlySet<string> {
  return anchorsOf(nodesIn(text));
}

const parser = unified().use(remarkParse).use(remarkGfm).freeze();

function nodesIn(text: string): Node[] {
  return nodesOf(Node.parse(parser.parse(text)));
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.children ?? []).flatMap(nodesOf)];
}

function anchorsOf(nodes: readonly Node[]): Set<string> {
  const anchors = new Set<string>();
  for (const heading of nodes.filter(({ type }) => type === "heading")) {
    const text = nodesOf(heading).map(({ value = "" }) => value);
    const words = text.join("").toLowerCase().trim();
    const slug = words.replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}
